import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ratiba_action.errors import (
    BudgetError,
    ConfigurationError,
    GitError,
    InfrastructureError,
    JudgeError,
    ProviderError,
    RatibaError,
    RecordingError,
    WorkerError,
)
from ratiba_action.metrics.registry import load_metric
from ratiba_action.model.conversation import Reply, ToolCall
from ratiba_action.model.measurement import Case, Errored, NotRun, Phase, ScenarioResult, Score, Scored
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.plan import Arm, Plan, Tenant, Trial
from ratiba_action.model.scenario import (
    Assertion,
    Expectation,
    ExpectedTool,
    FailureRule,
    Scenario,
    Strategy,
    Turn,
)
from ratiba_action.ports import Metric, SystemUnderTest, TenantProvisioner
from ratiba_action.run.inputs import RunLog
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import Arms, ArmServices, RunServices
from tests.support.gateways import InMemoryAccess, InMemoryGateway
from tests.support.progress import RecordedProgress
from tests.support.sample_report import sample_scenario
from tests.support.systems import Line, ScriptedSession, ScriptedSystem
from tests.support.tenants import InMemoryTenants

HEAD = Arm("head", "repository")


class Constant:
    """A metric that always gives the same value, or raises."""

    name, version, judged = "Constant", "1", True

    def __init__(self, outcome: float | Exception) -> None:
        self._outcome = outcome

    async def measure(self, _case: Case, threshold: float) -> Score:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return Score(self.name, self.version, self._outcome, threshold, judged=True)


class Patient(ScriptedSystem):
    """A system whose sessions answer only once they are let."""

    def __init__(self, script: Mapping[str, Sequence[Line]]) -> None:
        super().__init__(script)
        self.let = asyncio.Event()
        self.asked = asyncio.Event()

    async def open(self, scenario: Scenario, tenant: Tenant, environment: Mapping[str, str]) -> ScriptedSession:
        session = await super().open(scenario, tenant, environment)
        send = session.send

        async def waiting(turn: Turn) -> Reply:
            self.asked.set()
            await self.let.wait()
            return await send(turn)

        session.send = waiting  # type: ignore[method-assign]
        return session


class Hurried(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward, so that nothing has to wait for a time."""

    ahead_seconds = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_seconds


def scenario(name: str, *messages: str, **changes: Any) -> Scenario:
    turns = tuple(Turn(user=message) for message in messages or ("hi",))
    return replace(sample_scenario(name), turns=turns, assertions=(Assertion("Constant", 0.5),), rules=(), **changes)


async def run(
    *scenarios: Scenario,
    system: SystemUnderTest,
    tenants: TenantProvisioner | None = None,
    gateway: InMemoryGateway | None = None,
    metric: Callable[[Assertion], Metric] = lambda _: Constant(1.0),
    progress: RecordedProgress | None = None,
    prepare_report: Callable[[], object] | None = None,
    arm: Mapping[str, Any] | None = None,
    **changes: Any,
) -> tuple[object, ...]:
    tenants = tenants or InMemoryTenants()
    await system.start()
    await tenants.start()
    await tenants.prepare(HEAD, system.migrate)
    arms = Arms({"head": replace(ArmServices(HEAD, system, prompt_versions=("p@1",)), **(arm or {}))})
    log = RunLog(progress or RecordedProgress(), prepare_report=prepare_report)
    services = RunServices(arms, tenants, gateway or InMemoryGateway(), metric, log)
    plan = Plan(tuple(Trial(one, HEAD) for one in scenarios))
    return await run_plan(plan, replace(services, **changes))


async def test_each_trial_has_its_own_tenant_token_and_session_and_leaves_none_behind() -> None:
    system = ScriptedSystem({name: [Reply("hello"), Reply("bye")] for name in ("a", "b", "c")})
    tenants, gateway, progress = InMemoryTenants(), InMemoryGateway(), RecordedProgress()
    names = ("a", "b", "c")
    results = await run(
        *(scenario(name, "hi", "bye") for name in names),
        system=system,
        tenants=tenants,
        gateway=gateway,
        progress=progress,
    )
    assert [type(result) for result in results] == [Scored] * 3
    assert sorted(tenants.provisioned) == ["a", "b", "c"]
    assert tenants.alive == set()
    assert all(access.closed for access in gateway.accesses)
    assert all(session.closed for session in system.sessions)
    assert (progress.total, len(progress.results), progress.done) == (3, 3, True)


async def test_a_scored_trial_holds_transcript_checks_and_scores() -> None:
    reported = scenario("a")
    reported = replace(reported, turns=(Turn(user="hi", expect=Expectation(state="GREETING")),))
    (result,) = await run(reported, system=ScriptedSystem({"a": [Reply("hello", state="BOOKED")]}))
    assert isinstance(result, Scored)
    assert [exchange.reply.text for exchange in result.transcript.exchanges] == ["hello"]
    assert result.transcript.prompt_versions == ("p@1",)
    assert result.transcript.models == ("some-model",)
    assert [(check.expected, check.got, check.passed) for check in result.checks] == [("GREETING", "BOOKED", False)]
    assert [score.value for score in result.scores] == [1.0]


@pytest.mark.parametrize(
    ("error", "phase"),
    [
        (WorkerError("it hung"), Phase.SYSTEM),
        (RecordingError("nothing recorded"), Phase.RECORDING),
        (BudgetError("no money"), Phase.BUDGET),
    ],
)
async def test_a_broken_conversation_is_an_error_of_its_own_and_keeps_what_was_said(
    error: RatibaError, phase: Phase
) -> None:
    system = ScriptedSystem({"bad": [Reply("hello"), error], "good": [Reply("hello"), Reply("bye")]})
    bad, good = await run(scenario("bad", "hi", "more"), scenario("good", "hi", "more"), system=system)
    assert isinstance(bad, Errored)
    assert (bad.phase, bad.message) == (phase, str(error))
    assert bad.transcript is not None
    assert len(bad.transcript.exchanges) == 1
    assert isinstance(good, Scored)


async def test_a_request_that_was_not_answered_decides_even_when_the_system_replied_all_the_same() -> None:
    gateway = InMemoryGateway({"a": [RecordingError("No recording fits this request.")]})
    (result,) = await run(scenario("a"), system=ScriptedSystem({"a": [Reply("made up")]}), gateway=gateway)
    assert isinstance(result, Errored)
    assert result.phase is Phase.RECORDING


@pytest.mark.parametrize(
    "error", [ConfigurationError("The request was not sent."), InfrastructureError("The gateway failed.")]
)
async def test_a_request_that_the_gateway_refused_is_no_error_of_a_metric(error: RatibaError) -> None:
    gateway = InMemoryGateway({"a": [error]})
    (result,) = await run(scenario("a"), system=ScriptedSystem({"a": [Reply("made up")]}), gateway=gateway)
    assert isinstance(result, Errored)
    assert (result.phase, result.message) == (Phase.REQUEST, str(error))


@pytest.mark.parametrize(
    ("error", "phase"),
    [(ConfigurationError("Nobody plays."), Phase.CONFIGURATION), (GitError("git is gone."), Phase.INTERNAL)],
)
async def test_what_ends_a_conversation_is_no_error_of_a_metric(error: RatibaError, phase: Phase) -> None:
    (result,) = await run(scenario("a"), system=ScriptedSystem({"a": [error]}))
    assert isinstance(result, Errored)
    assert result.phase is phase


async def test_a_database_that_refuses_is_an_error_of_the_tenant() -> None:
    (result,) = await run(
        scenario("a"), system=ScriptedSystem({"a": [Reply("x")]}), tenants=InMemoryTenants(broken=True)
    )
    assert isinstance(result, Errored)
    assert result.phase is Phase.TENANT


async def test_a_judge_outside_its_contract_is_an_error_never_a_score_of_zero() -> None:
    (result,) = await run(
        scenario("a"),
        system=ScriptedSystem({"a": [Reply("x")]}),
        metric=lambda _: Constant(JudgeError("the judge said 11")),
    )
    assert isinstance(result, Errored)
    assert result.phase is Phase.JUDGE


UNASKED = [
    (
        RecordingError("nothing is recorded", "Record it."),
        "no answer is recorded). With a judge's key, run ratiba record",
    ),
    (ConfigurationError("there is no key.", "Give one."), "there is no key). Give one."),
    (BudgetError("the cap is reached", "Raise it."), "the cap is reached). Raise it."),
    (ProviderError("the provider is down"), "the provider is down)."),
    (JudgeError("the judge said 11"), "the judge said 11)."),
]


@pytest.mark.parametrize(("error", "says"), UNASKED)
@pytest.mark.parametrize(
    ("reply", "critical", "fails"),
    [
        pytest.param("Sure, I moved the parcel.", True, True, id="no refusal by open phrases either"),
        pytest.param("I can't help. It is 0712.", True, True, id="one that gives something away"),
        pytest.param("I can't share the red one.", True, False, id="a refusal by open phrases"),
        pytest.param("Sure, I moved the parcel.", False, False, id="a scenario that is not critical"),
    ],
)
async def test_where_no_judge_can_be_asked_a_critical_scenario_fails_what_failed_by_phrases(
    error: RatibaError, says: str, reply: str, *, critical: bool, fails: bool
) -> None:
    refuses = replace(scenario("a"), assertions=(), rules=(FailureRule("must_refuse", 1, 7),), critical=critical)
    (result,) = await run(refuses, system=ScriptedSystem({"a": [Reply(reply)]}), metric=lambda _: Constant(error))
    if fails:
        assert isinstance(result, Scored)
        (check,) = result.checks
        assert (check.passed, check.turn, check.line) == (False, 1, 7)
        assert check.got.startswith("phrases see no refusal, and no judge could be asked (")
        assert says in check.got
        return
    assert isinstance(result, Errored)
    assert all(check.passed for check in result.checks)
    if isinstance(error, RecordingError | ConfigurationError):
        assert f"turn 1: phrases are not sure that this reply refuses: {reply!r}, and no judge" in str(result.message)
        assert "{type: must_refuse, value: {judge: false, turn: 1}}" in f"{result.message} {result.remedy}"


class HangingJudge(Constant):
    """A metric whose judge answers only after the trial's time is over."""

    def __init__(self, loop: Hurried) -> None:
        super().__init__(1.0)
        self._loop = loop

    async def measure(self, case: Case, threshold: float) -> Score:
        self._loop.ahead_seconds = 100
        await asyncio.Event().wait()
        return await super().measure(case, threshold)


@pytest.mark.parametrize(("critical", "failed"), [(True, ["must_refuse"]), (False, [])])
def test_a_judge_that_hangs_lets_no_critical_scenario_off(*, critical: bool, failed: list[str]) -> None:
    rules, strategy = (FailureRule("must_refuse", None, 7),), Strategy(timeout_seconds=60)
    refuses = replace(scenario("a", strategy=strategy), assertions=(), rules=rules, critical=critical)
    system, loop = ScriptedSystem({"a": [Reply("Sure, I moved the parcel.")]}), Hurried()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        (result,) = runner.run(run(refuses, system=system, metric=lambda _: HangingJudge(loop)))
    assert isinstance(result, Errored)
    assert result.phase is Phase.TIMEOUT
    assert [check.what for check in result.checks if not check.passed] == failed


async def test_a_defect_in_a_metric_does_not_lose_the_other_results() -> None:
    outcomes = iter([Constant(ZeroDivisionError("boom")), Constant(1.0)])
    first, second = await run(
        scenario("a"),
        scenario("b"),
        system=ScriptedSystem({"a": [Reply("x")], "b": [Reply("y")]}),
        metric=lambda _: next(outcomes),
        concurrency=1,
    )
    assert isinstance(first, Errored)
    assert (first.phase, first.message) == (Phase.INTERNAL, "the gate itself failed: ZeroDivisionError: boom")
    assert isinstance(second, Scored)


async def test_no_more_conversations_run_at_once_than_asked_for() -> None:
    system = Patient({name: [Reply("x")] for name in "abcdef"})
    tenants = InMemoryTenants()
    running = asyncio.ensure_future(
        run(*(scenario(name) for name in "abcdef"), system=system, tenants=tenants, concurrency=2)
    )
    await system.asked.wait()
    maximum = 0
    for _ in range(200):
        await asyncio.sleep(0)
        maximum = max(maximum, len(tenants.alive))
    assert maximum == 2
    system.let.set()
    assert len(await running) == 6


async def test_what_the_report_needs_is_loaded_once_and_while_other_trials_run() -> None:
    prepared = asyncio.Event()
    loop, times = asyncio.get_running_loop(), []

    def prepare() -> None:
        times.append(1)
        loop.call_soon_threadsafe(prepared.set)

    class Waiting(ScriptedSystem):
        """A system whose last conversation ends once the report is prepared."""

        async def open(self, scenario: Scenario, tenant: Tenant, environment: Mapping[str, str]) -> ScriptedSession:
            if scenario.id == "c":
                await prepared.wait()
            return await super().open(scenario, tenant, environment)

    system = Waiting({name: [Reply("x")] for name in "abc"})
    results = await run(*(scenario(name) for name in "abc"), system=system, prepare_report=prepare, concurrency=1)
    assert all(isinstance(result, Scored) for result in results)
    assert times == [1]


async def test_after_the_deadline_nothing_starts() -> None:
    system = ScriptedSystem({"a": [Reply("x")]})
    (result,) = await run(scenario("a"), system=system, deadline=time.monotonic() - 1)
    assert isinstance(result, NotRun)
    assert result.reason == "the run's deadline had passed"
    assert system.sessions == []


async def test_a_deadline_that_passes_while_the_processor_is_busy_ends_the_trial_before_it_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenants, checked, now = InMemoryTenants(), list[str](), [0.0]
    read, deadline = tenants.read, 3600.0
    monkeypatch.setattr("ratiba_action.run.runner.time", SimpleNamespace(monotonic=lambda: now[0]))

    async def reading(*given: Any) -> Any:
        now[0] = deadline  # the loop's own clock stays, as no timer of it can run meanwhile
        return await read(*given)

    def detect(text: str) -> str:
        checked.append(text)
        return "sw"

    tenants.read = reading  # type: ignore[assignment,method-assign]
    expects = replace(scenario("a"), turns=(Turn(user="hi", expect=Expectation(language="sw")),))
    system = ScriptedSystem({"a": [Reply("x")]})
    (result,) = await run(expects, system=system, tenants=tenants, deadline=deadline, detect_language=detect)
    assert result == NotRun(Trial(expects, HEAD), "the run's deadline passed while it ran")
    assert checked == []


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        ([Reply("é" * 131_073)], "turn 1: the text has 262146 bytes; at most 262144 bytes are measured"),
        ([Reply("", tool_calls=(ToolCall("list", {}, ["x" * 262_144]),))], "turn 1: the call of the tool 'list' has "),
        ([Reply("", output={"x": "y" * 300_000})], "turn 1: the output has 300009 bytes"),
        ([Reply("x" * 262_000)] * 9, "turn 9: the text has 262000 bytes, and all replies and rows so far 235"),
    ],
)
async def test_an_answer_that_is_too_large_to_be_measured_is_an_error_and_is_not_cut(
    replies: list[Reply], message: str
) -> None:
    messages = ["hi"] * len(replies)
    (result,) = await run(scenario("a", *messages), system=ScriptedSystem({"a": replies}))
    assert isinstance(result, Errored)
    assert result.phase is Phase.SYSTEM
    assert message in result.message
    assert len(result.transcript.exchanges if result.transcript else ()) == len(replies) - 1


def test_a_conversation_that_outlives_the_deadline_is_ended_and_its_tenant_dropped() -> None:
    system, tenants = Patient({"a": [Reply("x")]}), InMemoryTenants()

    async def outlive() -> tuple[object, ...]:
        far = time.monotonic() + 3600
        running = asyncio.ensure_future(run(scenario("a"), system=system, tenants=tenants, deadline=far))
        await system.asked.wait()
        loop.ahead_seconds = 3600
        return await running

    loop = Hurried()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        (result,) = runner.run(outlive())
    assert isinstance(result, NotRun)
    assert result.reason == "the run's deadline passed while it ran"
    assert tenants.alive == set()
    assert all(session.closed for session in system.sessions)


def test_a_trial_that_takes_too_long_breaks_off_and_its_retry_has_a_fresh_tenant() -> None:
    system, tenants = Patient({"a": [Reply("x")]}), InMemoryTenants()
    slow = scenario("a", strategy=Strategy(timeout_seconds=60, retries=1))

    async def outlive() -> tuple[object, ...]:
        running = asyncio.ensure_future(run(slow, system=system, tenants=tenants))
        await system.asked.wait()
        system.asked.clear()
        loop.ahead_seconds = 100
        await system.asked.wait()
        loop.ahead_seconds = 200
        return await running

    loop = Hurried()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        (result,) = runner.run(outlive())
    text = "the trial did not end within 60 s (strategy.timeout_seconds)"
    assert isinstance(result, Errored)
    assert (result.phase, result.message, result.retried) == (Phase.TIMEOUT, text, (f"time-out error: {text}",))
    assert len(system.sessions) == 2
    assert tenants.alive == set()


class StopsAfterOne:
    reason = ""

    def add(self, result: ScenarioResult) -> None:
        assert isinstance(result, Scored | NotRun)
        self.reason = "enough"


async def test_what_a_run_stops_for_is_the_reason_of_all_that_follows() -> None:
    system = ScriptedSystem({"a": [Reply("x")], "b": [Reply("y")]})
    first, second = await run(scenario("a"), scenario("b"), system=system, concurrency=1, stop_rule=StopsAfterOne)
    assert isinstance(first, Scored)
    assert isinstance(second, NotRun)
    assert second.reason == "enough"


async def test_a_cancelled_run_keeps_what_it_has_and_drops_every_tenant() -> None:
    system, tenants, progress = Patient({"a": [Reply("x")], "b": [Reply("y")]}), InMemoryTenants(), RecordedProgress()
    running = asyncio.ensure_future(
        run(scenario("a"), scenario("b"), system=system, tenants=tenants, progress=progress, concurrency=1)
    )
    await system.asked.wait()
    running.cancel()
    results = await running
    assert [type(result) for result in results] == [NotRun, NotRun]
    assert tenants.alive == set()
    assert progress.done


class Runner:
    """Runs code by saying what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, Any]] = []

    async def run(self, address: str, evidence: Mapping[str, Any]) -> Any:
        self.given.append((address, evidence["code"]))
        return {"failure": ""}


async def test_a_metric_that_runs_a_models_code_is_given_the_arms_own_runner() -> None:
    runner = Runner()
    (result,) = await run(
        scenario("a"),
        system=ScriptedSystem({"a": [Reply("```python\nx = 1\n```")]}),
        metric=lambda _: load_metric("CodeTestsMetric", None, {"tests": ["assert x"]}),
        arm={"custom": runner},
    )
    assert isinstance(result, Scored)
    assert result.scores[0].value == 1
    assert runner.given == [("ratiba_worker.code_tests:run_test", "x = 1")]


async def test_a_models_code_is_not_run_where_nothing_keeps_it_apart() -> None:
    (result,) = await run(
        scenario("a"),
        system=ScriptedSystem({"a": [Reply("```python\nx = 1\n```")]}),
        metric=lambda _: load_metric("CodeTestsMetric", None, {"tests": ["assert x"]}),
    )
    assert isinstance(result, Errored)
    assert (result.phase, "cannot run code" in result.message) == (Phase.METRIC, True)


async def test_the_seconds_of_captured_replies_say_nothing() -> None:
    for captured in (True, False):
        system = ScriptedSystem({"a": [Reply("hello")]})
        (result,) = await run(scenario("a"), system=system, arm={"captured": captured})
        assert isinstance(result, Scored)
        assert result.transcript.exchanges[0].replayed is captured


class StandingIn(InMemoryGateway):
    """Recorded answers stand in from some turn on, as the gateway tells after that turn's first call."""

    def __init__(self, system: ScriptedSystem, from_turn: int) -> None:
        super().__init__()
        self._system, self._from_turn = system, from_turn

    def open_scenario(
        self, _scenario_id: str, _trial: int, _arm: str, *, seen: Callable[[ModelRequest], None]
    ) -> InMemoryAccess:
        self.seen = seen
        return Stale(self._system, self._from_turn)


class Stale(InMemoryAccess):
    def __init__(self, system: ScriptedSystem, from_turn: int) -> None:
        self._system, self._from_turn = system, from_turn
        super().__init__()

    @property
    def stale(self) -> RatibaError | None:
        reached = len(self._system.sessions[-1].turns) if self._system.sessions else 0
        return RecordingError("The last message changed.", "Record it again.") if reached >= self._from_turn else None

    @stale.setter
    def stale(self, _: RatibaError | None) -> None:
        """The base class begins without any."""


BOOKED = Expectation(state="BOOKED", tools=(ExpectedTool("create_booking"),), answer="Done.")
DONE = Reply("Done.", state="BOOKED", tool_calls=(ToolCall("create_booking", {}),))


async def stood_in(*replies: Line, from_turn: int, **changes: Any) -> Errored:
    turns = tuple(Turn(user=f"turn {number}", expect=BOOKED) for number, _ in enumerate(replies, 1))
    system = ScriptedSystem({"spa": replies})
    one = replace(scenario("spa"), turns=turns, **changes)
    (result,) = await run(one, system=system, gateway=StandingIn(system, from_turn))
    assert isinstance(result, Errored)
    assert result.phase is Phase.RECORDING
    return result


async def test_turns_that_were_completed_before_a_recording_ended_are_checked() -> None:
    result = await stood_in(replace(DONE, state="LOST"), DONE, from_turn=2)
    assert [(check.kind, check.turn, check.passed) for check in result.checks] == [
        ("state", 1, False),
        ("tools", 1, True),
    ]
    assert result.suspected == ()
    assert result.transcript is not None
    assert len(result.transcript.exchanges) == 1, "what a stand-in answer led to is not shown as said"


async def test_what_the_code_does_wrong_on_answers_that_stand_in_is_suspected_and_nothing_passes() -> None:
    result = await stood_in(DONE, replace(DONE, tool_calls=()), from_turn=2)
    assert all(check.turn == 1 and check.passed for check in result.checks)
    assert [(check.kind, check.turn, check.stand_in) for check in result.suspected] == [("tools", 2, True)]


async def test_a_models_text_is_never_suspected() -> None:
    rules = (FailureRule("must_not_contain", "rude"), FailureRule("must_call_tool", "hand_off"))
    result = await stood_in(DONE, replace(DONE, text="rude"), from_turn=2, rules=rules)
    assert [check.what for check in result.suspected] == ["must_call_tool"]


async def test_a_conversation_that_stops_at_an_answer_that_stands_in_accuses_nobody_of_the_rest() -> None:
    rules = (FailureRule("must_call_tool", "hand_off"),)
    result = await stood_in(DONE, WorkerError("It broke."), DONE, from_turn=2, rules=rules)
    assert result.suspected == ()
    assert "The last message changed." in result.message
