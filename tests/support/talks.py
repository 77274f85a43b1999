"""A chat on fakes: no process, no database and no model."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import yaml

from ratiba_action.authoring.chat import About, Chat, ChatArm, ChatPorts
from ratiba_action.authoring.chat_conversation import KeptAnswers
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.plan import HEAD, Arm
from ratiba_action.model.scenario import Assertion, Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import Metric
from ratiba_action.privacy.masking import Redactor
from ratiba_action.run.inputs import ArmInputs, RunLog
from ratiba_action.run.services import Arms, ArmServices, RunServices
from ratiba_action.suite.load import load_suite
from tests.support.gateways import InMemoryGateway
from tests.support.progress import RecordedProgress
from tests.support.systems import Line, ScriptedSystem
from tests.support.tenants import InMemoryTenants

ABOUT = About(language="fr", now="2026-04-25T10:00:00+03:00", customer={"name": "Amina", "phone": "+254 700 000 001"})


class SharedArms(Arms):
    """Arms of one system, under as many names as are asked for."""

    def add(self, arm: ArmInputs) -> None:
        """See ``Arms``."""
        raise AssertionError(arm)

    def share(self, name: str) -> None:
        """Give the first arm one more name."""
        first = self[HEAD]
        self._started[name] = replace(first, arm=Arm(name, ""), template=first.arm)


class FakeChatArms:
    """Implements ``ChatArms``: remembers what went live, and with which answers."""

    def __init__(self, arms: SharedArms) -> None:
        self._arms = arms
        self.made: list[str] = []
        self.live: list[str] = []

    def add(self, _scenario: Scenario, _lines: Sequence[ModelRecording]) -> ChatArm:
        """See ``ChatArms``."""
        name = f"head-{len(self.made)}"
        self.made.append(name)
        self._arms.share(name)
        return ChatArm(name, lambda: self.live.append(name))

    def remove(self, arm: ChatArm) -> None:
        """See ``ChatArms``."""
        self._arms.remove(arm.name)

    @asynccontextmanager
    async def open_base(self, scenario: Scenario, lines: Sequence[ModelRecording]) -> AsyncIterator[ChatArm]:
        """See ``ChatArms``."""
        arm = self.add(scenario, lines)
        yield arm
        self.remove(arm)


class GrowingTenants(InMemoryTenants):
    """A table to which each second read adds a row; its id is another one in each tenant."""

    def __init__(self) -> None:
        super().__init__()
        self._reads: dict[str, int] = {}

    async def read(self, tenant: Any, queries: Mapping[str, str]) -> Mapping[str, tuple[JsonObject, ...]]:
        await super().read(tenant, queries)
        if "tables" in queries:
            return {"tables": ({"table_name": "bookings"}, {"table_name": "checkpoint_writes"})}
        assert set(queries) == {"bookings"} or not queries
        count = self._reads[tenant.schema] = self._reads.get(tenant.schema, -1) + 1
        rows = tuple({"id": f"{tenant.schema}-{number}", "service": "massage", "note": None} for number in range(count))
        return dict.fromkeys(queries, rows)


def load(data: JsonObject) -> Scenario:
    content = yaml.safe_dump(dict(data)).encode()
    (scenario,) = load_suite({"scenarios/chat.yaml": content}, metric_problems, validate_rule).scenarios
    return scenario


def no_metric(assertion: Assertion) -> Metric:
    raise AssertionError(assertion)


class Talk:
    """A chat on fakes, and what it did with them."""

    def __init__(
        self,
        lines: Sequence[Line],
        saved_as: Sequence[str] = (),
        tenants: InMemoryTenants | None = None,
        metric: Callable[[Assertion], Metric] = no_metric,
    ) -> None:
        self.lines = list(lines)
        self.system = ScriptedSystem(dict.fromkeys(("chat", *saved_as), self.lines))
        self.tenants = tenants or InMemoryTenants()
        self.gateway = InMemoryGateway()
        self.arms = SharedArms({HEAD: ArmServices(Arm(HEAD, ""), self.system)})
        self.chat_arms = FakeChatArms(self.arms)
        self.metric = metric

    async def start(self, **given: Any) -> Chat:
        await self.tenants.start()
        await self.system.start()
        await self.tenants.prepare(Arm(HEAD, ""), self.system.migrate)
        services = RunServices(self.arms, self.tenants, self.gateway, self.metric, RunLog(RecordedProgress()))
        return Chat(ChatPorts(services, self.chat_arms, KeptAnswers(), load, Redactor(), **given), ABOUT)


@asynccontextmanager
async def talking(*lines: Line, **given: Any) -> AsyncIterator[tuple[Chat, Talk]]:
    """A chat on fakes; at its end no tenant, arm or way to a model is left.

    Args:
        given: of ``Talk``.
    """
    talk = Talk(lines, **given)
    async with await talk.start() as chat:
        yield chat, talk
    assert not talk.tenants.alive
    assert all(access.closed for access in talk.gateway.accesses)
    assert set(talk.arms) == {HEAD}
