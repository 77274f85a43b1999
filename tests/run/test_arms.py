from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.model.conversation import Reply
from ratiba_action.model.measurement import NotRun, Scored
from ratiba_action.model.plan import BASE, HEAD, Arm, Plan, Trial
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.ports import Metric
from ratiba_action.run.inputs import RunLog
from ratiba_action.run.plan_loop import PlanLoop, Ran, run_first, run_further
from ratiba_action.run.services import Arms, ArmServices, Measured, RunServices, TrialCalls
from tests.support.gateways import InMemoryGateway
from tests.support.progress import RecordedProgress
from tests.support.sample_report import sample_scenario
from tests.support.systems import ScriptedSystem
from tests.support.tenants import InMemoryTenants

OURS, THEIRS = Arm(HEAD, "checkout"), Arm(BASE, "scratch/base", "c" * 40)
SCENARIO = replace(sample_scenario("a"), assertions=(), rules=())
DONE = Verdict(Conclusion.PASSED, "done")


def no_metric(assertion: object) -> Metric:
    raise AssertionError(assertion)


def says(text: str) -> ScriptedSystem:
    return ScriptedSystem({"a": [Reply(text) for _ in SCENARIO.turns]})


def plan(*arms: str, number: int = 0) -> Plan:
    return Plan(tuple(Trial(SCENARIO, Arm(arm, ""), number) for arm in arms))


class Base:
    """A base that is started when it is asked for."""

    def __init__(self, error: WorkerError | None = None) -> None:
        self.started = 0
        self._error = error

    async def start(self, tenants: InMemoryTenants) -> ArmServices:
        self.started += 1
        if self._error is not None:
            raise self._error
        system = says("base")
        await system.start()
        await tenants.prepare(THEIRS, system.migrate)
        return ArmServices(THEIRS, system)


async def opened(base: Base | None, afford: Callable[[Sequence[Trial]], str] = lambda _: "") -> RunServices:
    tenants, system = InMemoryTenants(), says("head")
    await tenants.start()
    await system.start()
    await tenants.prepare(OURS, system.migrate)
    waiting = {BASE: partial(base.start, tenants)} if base is not None else {}
    arms = Arms({HEAD: ArmServices(OURS, system)}, waiting, no_base="there is no base")

    class Asked(TrialCalls):
        async def afford(self, trials: Sequence[Trial]) -> str:
            return afford(trials)

    return RunServices(arms, tenants, InMemoryGateway(), no_metric, RunLog(RecordedProgress()), calls=Asked())


def replies(ran: Ran) -> dict[str, str]:
    assert all(isinstance(one, Scored) for one in ran.results), ran
    return {
        one.trial.arm.root: one.transcript.exchanges[0].reply.text for one in ran.results if isinstance(one, Scored)
    }


async def test_the_base_is_started_by_the_first_plan_that_names_it_and_once() -> None:
    base = Base()
    services = await opened(base)
    assert replies(await run_first(plan(HEAD), services)) == {OURS.root: "head"}
    assert base.started == 0
    assert replies(await run_further(plan(HEAD, BASE, number=1), services)) == {THEIRS.root: "base", OURS.root: "head"}
    await run_first(plan(BASE, number=2), services)
    assert base.started == 1


@pytest.mark.parametrize(
    ("base", "reason"),
    [(None, "there is no base"), (Base(WorkerError("it hung")), "it could not be started: it hung")],
)
async def test_without_a_base_no_further_trial_is_held_on_either_side(base: Base | None, reason: str) -> None:
    services = await opened(base)
    for _ in range(2):
        ran = await run_further(plan(HEAD, BASE, number=1), services)
        assert ran.results == ()
        assert reason in (ran.refusal or "")
    assert replies(await run_first(plan(HEAD), services)) == {OURS.root: "head"}


async def test_a_further_plan_that_the_money_does_not_hold_is_not_begun() -> None:
    asked: list[tuple[str, int]] = []

    def refuse(trials: Sequence[Trial]) -> str:
        asked.extend((one.arm.root, one.number) for one in trials)
        return "raise the budget"

    services = await opened(Base(), refuse)
    assert await run_further(plan(HEAD, BASE, number=1), services) == Ran((), "raise the budget")
    assert asked == [(OURS.root, 1), (THEIRS.root, 1)]


async def test_the_loop_runs_further_plans_until_there_is_a_verdict() -> None:
    seen: list[int] = []

    def ask(measured: Measured) -> Plan | Verdict:
        seen.append(len(measured.results))
        return plan(HEAD, BASE, number=len(seen)) if len(seen) < 3 else DONE

    loop = PlanLoop(plan(HEAD), ask, None, [])
    await loop.run(await opened(Base()))
    assert [(one.trial.arm.name, one.trial.number) for one in loop.measured.results] == [
        (HEAD, 0),
        *((arm, number) for number in (1, 2) for arm in (BASE, HEAD)),
    ]
    assert len(loop.measured.own) == 3
    assert seen == [1, 3, 5]


async def test_a_trial_is_never_run_twice() -> None:
    loop = PlanLoop(plan(HEAD), lambda _: plan(HEAD, BASE, number=1), None, [])
    with pytest.raises(RuntimeError, match="asks for trials that were run already"):
        await loop.run(await opened(Base()))


async def test_what_is_known_before_to_be_impossible_is_not_asked_for() -> None:
    def ask(measured: Measured) -> Plan | Verdict:
        raise AssertionError(measured)

    loop = PlanLoop(plan(HEAD, BASE), ask, "the recordings hold no further trials", [])
    await loop.run(await opened(Base()))
    assert [one.trial.arm.name for one in loop.measured.results] == [HEAD, BASE]
    assert loop.measured.no_further == "the recordings hold no further trials"


async def test_a_run_that_was_cancelled_begins_nothing_more() -> None:
    base = Base()
    loop = PlanLoop(plan(HEAD, BASE), lambda _: plan(HEAD, BASE, number=1), None, ["cancelled by SIGTERM"])
    await loop.run(await opened(base))
    assert [type(one) for one in loop.measured.results] == [NotRun]
    assert base.started == 0


async def test_a_base_that_does_not_start_leaves_the_head_as_it_is() -> None:
    loop = PlanLoop(plan(HEAD, BASE), lambda _: DONE, None, [])
    await loop.run(await opened(Base(WorkerError("it hung"))))
    assert [one.trial.arm.name for one in loop.measured.results] == [HEAD]
    assert "it hung" in (loop.measured.base_failed or "")


async def test_a_round_runs_base_and_head_by_turns_and_says_when_each_trial_ran() -> None:
    services = replace(await opened(Base()), concurrency=1)
    await run_first(plan(HEAD), services)
    numbers = range(1, 9)
    ran = await run_further(
        Plan(tuple(one for number in numbers for one in plan(HEAD, BASE, number=number).trials)), services
    )
    arms = [one.trial.arm.name for one in ran.results]
    assert arms[:6] == [BASE, BASE, HEAD, HEAD, HEAD, HEAD], (
        "blocks of two pairs, of which the second begins with the head"
    )
    assert sorted(one.trial.number for one in ran.results if one.trial.arm.name == BASE) == list(numbers)
    scored = [one for one in ran.results if isinstance(one, Scored)]
    assert [one.place for one in scored] == list(range(16))
    began = [one.began for one in scored if one.began is not None]
    assert len(began) == 16
    assert began == sorted(began)


async def test_what_ran_before_the_base_was_altered_is_kept_and_nothing_runs_after_it() -> None:
    class Altered:
        """Implements ``BaseConditions``: the change alters them in its first part."""

        def __init__(self) -> None:
            self.asked = 0

        async def remember(self) -> None:
            return

        async def changed(self, *, after: bool = False) -> str:  # noqa: ARG002 - of the port
            self.asked += 1
            return "" if self.asked < 3 else "its files"

    services = replace(await opened(Base()), concurrency=1)
    services.arms.conditions = Altered()
    await run_first(plan(HEAD), services)
    trials = tuple(one for number in range(1, 9) for one in plan(HEAD, BASE, number=number).trials)
    ran = await run_further(Plan(trials), services)
    assert "its files" in (ran.refusal or "")
    assert [one.trial.arm.name for one in ran.results] == [BASE] * 2 + [HEAD] * 4
