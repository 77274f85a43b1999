"""Whatever happens to the base at any step that it takes, a failure stays one or the run is incomplete."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from ratiba_action.errors import DatabaseError, JudgeError, WorkerError, WorkerTimeoutError
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.conversation import Reply
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.plan import BASE, HEAD, Arm, Plan, Tenant, Trial
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.run.inputs import RunLog
from ratiba_action.run.plan_loop import PlanLoop
from ratiba_action.run.services import Arms, ArmServices, Measured, RunServices
from ratiba_action.verdict.decision import next_step
from tests.support.gateways import InMemoryGateway
from tests.support.progress import RecordedProgress
from tests.support.sample_report import sample_scenario, sample_score, sample_scored
from tests.support.systems import Line, ScriptedSystem
from tests.support.tenants import InMemoryTenants

GOOD, WORSE = 0.9, 0.4
ASSERTIONS = (Assertion("LikenessMetric", 0.0, 1),)
SCENARIOS = tuple(replace(sample_scenario(f"s{number:02}"), assertions=ASSERTIONS, rules=()) for number in range(12))
SCENARIOS = tuple(
    replace(one, turns=(replace(one.turns[0], expect=replace(one.turns[0].expect, state=None, tools=())),))
    for one in SCENARIOS
)
ARMS = {HEAD: Arm(HEAD, "checkout"), BASE: Arm(BASE, "scratch/base", "c" * 40)}
STEPS = ("start", "disk", "template", "tenant", "session", "hang", "score", "deadline", "before", "after", "cancelled")
_SECONDS = 0.2
"""Of a run whose deadline passes while the base starts."""
GREEN = {Conclusion.PASSED, Conclusion.INCONCLUSIVE}


@dataclass(frozen=True)
class Fault:
    """What happens to the base.

    Args:
        step: at which it happens; "" for nothing.
        trial: which of its trials it hits, where it hits one.
    """

    step: str = ""
    trial: int = 0

    def hits(self, step: str, arm: str, scenario_id: str) -> bool:
        """Whether it happens here."""
        return self.step == step and arm == BASE and scenario_id == SCENARIOS[self.trial].id


class Tenants(InMemoryTenants):
    """Tenants of which the base's template or one of its tenants fails."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self._fault = fault

    async def prepare(self, arm: Arm, migrate: Callable[[str], Awaitable[None]]) -> None:
        if self._fault.step == "template" and arm.name == BASE:
            raise DatabaseError("no connection is left")
        await super().prepare(arm, migrate)

    @asynccontextmanager
    async def provision(self, scenario_id: str, arm: Arm, trial: int = 0) -> AsyncIterator[Tenant]:
        if self._fault.hits("tenant", arm.name, scenario_id):
            raise DatabaseError("no connection is left")
        async with super().provision(scenario_id, arm, trial) as tenant:
            yield tenant


class Likeness:
    """Implements ``Metric``: the score is what the reply says."""

    name, version, judged = "LikenessMetric", "1", True

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    async def measure(self, case: Case, threshold: float) -> Score:
        if self._fault.hits("score", case.arm, case.scenario.id):
            raise JudgeError("the judge did not answer")
        value = float(case.transcript.exchanges[0].reply.text)
        return Score(self.name, self.version, value, threshold, judged=True, reason="as it says")


class Conditions:
    """Implements ``BaseConditions``: they differ where the fault says so."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    async def remember(self) -> None:
        return

    async def changed(self, *, after: bool = False) -> str:
        return "Max file size of the gate" if self._fault.step == ("after" if after else "before") else ""


def system(score: float, arm: str, fault: Fault) -> ScriptedSystem:
    errors = {"session": WorkerError("the process ended"), "hang": WorkerTimeoutError("it did not answer")}
    lines: dict[str, list[Line]] = {}
    for scenario in SCENARIOS:
        hit: list[Line] = [error for step, error in errors.items() if fault.hits(step, arm, scenario.id)]
        lines[scenario.id] = [*hit, Reply(str(score))][:1]
    return ScriptedSystem(lines)


async def verdict_of(head: float, fault: Fault, *, live: bool) -> Verdict:
    """The verdict of a run, as the loop and ``next_step`` come to it."""
    tenants, conditions = Tenants(fault), Conditions(fault)
    await tenants.start()

    async def start(arm: str, score: float) -> ArmServices:
        if arm == BASE and fault.step in {"start", "disk"}:
            raise WorkerError("set-up failed") if fault.step == "start" else OSError(28, "No space left on device")
        if arm == BASE and fault.step == "cancelled":
            interruptions.append("the run was cancelled by SIGTERM")
        if arm == BASE and fault.step == "deadline":
            await asyncio.sleep(max(deadline - time.monotonic(), 0.0))  # its start takes until then
        code = system(score, arm, fault)
        await code.start()
        await tenants.prepare(ARMS[arm], code.migrate)
        return ArmServices(ARMS[arm], code)

    deadline = time.monotonic() + (_SECONDS if fault.step == "deadline" else 3600.0)
    waiting = {BASE: lambda: start(BASE, GOOD), HEAD: lambda: start(HEAD, head)}
    open_arms, log = Arms(waiting=waiting, conditions=conditions), RunLog(RecordedProgress())
    services = RunServices(open_arms, tenants, InMemoryGateway(), lambda _: Likeness(fault), log, deadline=deadline)
    interruptions: list[str] = []
    answers = AnswerOrigin.LIVE if live else AnswerOrigin.REPLAY
    results = tuple(
        replace(sample_scored(scenario.id, scores=()), trial=Trial(scenario, ARMS[HEAD]), scores=(score_of(GOOD),))
        for scenario in SCENARIOS
    )
    earlier = (MeasuredRun("c" * 40, datetime(2026, 4, 25, tzinfo=UTC), "judge", answers, results),) if live else ()

    def evidence(measured: Measured) -> Evidence:
        interruption = interruptions[0] if interruptions else None
        return Evidence(
            Mode.BLOCKING,
            measured.results,
            Limits(),
            interruption,
            judge_model="judge",
            answers=answers,
            baseline=earlier,
            no_further=measured.no_further,
            base_failed=measured.base_failed,
        )

    arms = (HEAD,) if live else (HEAD, BASE)
    first = Plan(tuple(Trial(scenario, Arm(arm, "")) for arm in arms for scenario in SCENARIOS))
    loop = PlanLoop(first, lambda measured: next_step(evidence(measured)), None if live else "recorded", interruptions)
    await loop.run(services)
    step = next_step(evidence(loop.measured))
    assert isinstance(step, Verdict)
    return step


def score_of(value: float) -> Score:
    return replace(sample_score(value), metric=Likeness.name, version=Likeness.version, threshold=0.0)


async def test_without_a_fault_a_worse_change_fails_and_an_equal_one_passes() -> None:
    for live in (False, True):
        assert (await verdict_of(WORSE, Fault(), live=live)).conclusion is Conclusion.FAILED
        assert (await verdict_of(GOOD, Fault(), live=live)).conclusion is Conclusion.PASSED


@given(
    st.builds(Fault, st.sampled_from(STEPS), st.integers(0, len(SCENARIOS) - 1)),
    st.booleans(),
)
@settings(max_examples=40)  # each holds up to 96 trials
async def test_a_failure_never_becomes_better_by_anything_that_happens_to_the_base(fault: Fault, live: bool) -> None:  # noqa: FBT001 - drawn
    assert (await verdict_of(WORSE, fault, live=live)).conclusion not in GREEN


@given(st.builds(Fault, st.sampled_from([step for step in STEPS if step not in {"before", "after"}])))
@settings(max_examples=20)  # the same
async def test_in_a_replay_no_change_passes_without_its_base(fault: Fault) -> None:
    found = await verdict_of(GOOD, fault, live=False)
    assert found.conclusion is Conclusion.INCOMPLETE
    assert "baseline: none" in found.action or fault.step in {"cancelled", "deadline"}
