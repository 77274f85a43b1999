"""Measures conversations that took place, with the configured metrics and judges; no system is run."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ratiba_action.config.configuration import Configuration
from ratiba_action.config.metrics_block import attach_metrics
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.config.system_kinds import ReplayBlock
from ratiba_action.errors import ConfigurationError, WorkerError
from ratiba_action.metrics.judging.run_metric import MaskedMetric
from ratiba_action.metrics.registry import reads_documents
from ratiba_action.model.conversation import Document, Exchange, Reply, ToolCall
from ratiba_action.model.measurement import Case, ScenarioResult
from ratiba_action.model.plan import HEAD, Arm, Tenant
from ratiba_action.model.scenario import Assertion, Scenario, Turn
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Metric
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.conversation import CapturedConversation
from ratiba_action.run.composition import load_judging
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.model_calls import open_model_calls
from ratiba_action.run.plan_loop import cancelled_by_signals
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import ArmServices, Measured
from ratiba_action.systems.replay_system import ReplaySession


def masked_case(case: Case, redactor: Redactor) -> Case:
    """The case with every text, argument and document of its conversation masked.

    Args:
        case: of a conversation that took place.
        redactor: that knows the names of its people.
    """
    exchanges = tuple(_exchange(one, redactor) for one in case.transcript.exchanges)
    return replace(
        case,
        scenario=replace(case.scenario, turns=tuple(one.turn for one in exchanges)),
        transcript=replace(case.transcript, exchanges=exchanges),
    )


def _exchange(one: Exchange, redactor: Redactor) -> Exchange:
    user = None if one.turn.user is None else redactor.text(one.turn.user)
    event = None if one.turn.event is None else redactor.value(one.turn.event)
    return replace(one, turn=Turn(user=user, event=event), reply=_reply(one.reply, redactor))


def _reply(reply: Reply, redactor: Redactor) -> Reply:
    return replace(
        reply,
        text=redactor.text(reply.text),
        tool_calls=tuple(
            ToolCall(call.name, redactor.value(dict(call.args)), redactor.value(call.output))
            for call in reply.tool_calls
        ),
        documents=tuple(Document(one.id, redactor.text(one.text), one.score) for one in reply.documents),
        output=redactor.value(reply.output),
    )


class CapturedSystem:
    """Implements ``SystemUnderTest`` without running anything.

    Args:
        conversations: that took place.
        judges: models that must not have generated what they are to judge.
    """

    def __init__(self, conversations: Sequence[CapturedConversation], judges: Collection[str]) -> None:
        self._conversations = {one.scenario.id: one for one in conversations}
        self._judges = frozenset(judges)
        self._sessions: list[ReplaySession] = []

    async def start(self) -> None:
        """Nothing is started."""

    async def migrate(self, _dsn: str) -> None:
        """There are no tables."""

    async def open(self, scenario: Scenario, _tenant: Tenant, _environment: Mapping[str, str]) -> ReplaySession:
        """The conversation as it took place.

        Raises:
            WorkerError: nothing is known of it.
            ConfigurationError: a judge would judge its own output.
        """
        found = self._conversations.get(scenario.id)
        if found is None:
            raise WorkerError(f"nothing was captured of {scenario.id!r}.")
        own = sorted(self._judges & set(found.models))
        if own:
            raise ConfigurationError(
                f"The judge {own[0]!r} generated this conversation itself.", "Configure another judge."
            )
        session = ReplaySession(scenario.id, found.replies)
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        """Close every session; may be called twice."""
        for session in self._sessions:
            await session.close()


def with_metrics(
    conversations: Sequence[CapturedConversation], configuration: Configuration
) -> tuple[tuple[CapturedConversation, ...], tuple[str, ...]]:
    """The conversations with the metrics of their system type and language.

    A metric whose truth only a written scenario tells is left out, as is one of documents where none was retrieved.

    Returns:
        Those that something can measure, and the ids of the others.
    """
    block = configuration.metrics
    measured = tuple(replace(one, scenario=_with(one, attach_metrics(one.scenario, block))) for one in conversations)
    return (
        tuple(one for one in measured if one.scenario.assertions),
        tuple(one.scenario.id for one in measured if not one.scenario.assertions),
    )


def _with(one: CapturedConversation, assertions: tuple[Assertion, ...]) -> Scenario:
    retrieved = any(reply.documents for reply in one.replies)
    kept = tuple(each for each in assertions if retrieved or not reads_documents(each.metric))
    return replace(one.scenario, assertions=kept)


def sampling_configuration(configuration: Configuration) -> Configuration:
    """The same without its system: what was captured stands instead, and has no rows to read."""
    system = SystemBlock(root=configuration.system.root, replay=ReplayBlock())
    return configuration.model_copy(update={"system": system, "rows": {}})


def measure(
    conversations: Sequence[CapturedConversation],
    inputs: RunInputs,
    *,
    ledger: Ledger,
    log: RunLog,
    scratch: Path,
    redactors: Mapping[str, Redactor],
) -> tuple[tuple[ScenarioResult, ...], tuple[str, ...]]:
    """Measure every conversation; whatever was measured is kept, however the run ends.

    Args:
        conversations: each with its metrics.
        inputs: with ``sampling_configuration``.
        ledger: of the run.
        log: of the run.
        scratch: a folder outside the workspace, removed when the run ends.
        redactors: of the people of each conversation, by its id.

    Returns:
        The results, and the signals that ended the run.

    Raises:
        ConfigurationError: a model has no price.
        InfrastructureError: the shared ledger cannot be used.
    """
    if not conversations:
        return (), ()
    scenarios = tuple(one.scenario for one in conversations)
    head = ArmInputs(Arm(HEAD, str(inputs.repository)), inputs.configuration, scenarios)
    deadline = None if inputs.seconds is None else time.monotonic() + inputs.seconds
    interruptions: list[str] = []
    results: tuple[ScenarioResult, ...] = ()

    async def work() -> None:
        nonlocal results
        opened = open_model_calls(inputs, head, ledger=ledger, log=log, journal=None, deadline=deadline)
        with cancelled_by_signals(interruptions.append), contextlib.suppress(asyncio.CancelledError):
            async with opened as (_, services):
                await load_judging(inputs, head, scratch)
                judge = inputs.configuration.judge
                judges = {judge.model, *([judge.cross_check.model] if judge.cross_check is not None else [])}
                services.arms[HEAD] = ArmServices(head.arm, CapturedSystem(conversations, judges), captured=True)
                services.metric = partial(_masked_metric, services.metric, partial(_masked, redactors))
                results = await run_plan(head.plan, services)
                await services.finish(Measured(results), cancelled=bool(interruptions))

    asyncio.run(work())
    return results, tuple(interruptions)


def _masked_metric(
    metric_of: Callable[[Assertion], Metric], mask: Callable[[Case], Case], assertion: Assertion
) -> Metric:
    """An exact metric reads the conversation as it was; what a judge is sent is masked."""
    metric = metric_of(assertion)
    return MaskedMetric(metric, mask) if metric.judged else metric


def _masked(redactors: Mapping[str, Redactor], case: Case) -> Case:
    return masked_case(case, redactors[case.scenario.id])
