"""Run a plan: for each trial a tenant, a conversation, its measurements; one failure never touches another trial."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace

from ratiba_action.core.checks import check_transcript
from ratiba_action.core.custom_code import is_address
from ratiba_action.core.model.conversation import AnsweredCalls, Exchange, Transcript
from ratiba_action.core.model.measurement import Case, Check, Errored, NotRun, Phase, ScenarioResult, Score, Scored
from ratiba_action.core.model.plan import Plan, Trial
from ratiba_action.core.model.scenario import Assertion, Turn
from ratiba_action.core.model.values import Usd
from ratiba_action.core.turn_checks import DetectLanguage
from ratiba_action.custom_code import CustomMetric, check_custom_rules
from ratiba_action.errors import (
    BudgetError,
    ConfigurationError,
    DatabaseError,
    JudgeError,
    LedgerError,
    ProviderError,
    RatibaError,
    RecordingError,
    WorkerError,
    WorkerTimeoutError,
)
from ratiba_action.ports import (
    CodeMetric,
    CustomCode,
    CustomerSimulator,
    Metric,
    ModelAccess,
    ModelGateway,
    Progress,
    Session,
    SystemUnderTest,
    TenantProvisioner,
    TurnBooks,
)
from ratiba_action.retrying import with_retries
from ratiba_action.turn_payments import FreeTurns


def admit_all(_: Trial) -> AbstractAsyncContextManager[str]:
    """Lets every trial run: nothing that it does costs money."""
    return nullcontext("")


def never_stop(_: Sequence[ScenarioResult]) -> str:
    """Lets a run go on whatever has failed."""
    return ""


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything that a trial needs.

    Args:
        systems: the system under test of each arm, by the arm's name.
        metric: a fresh metric for an assertion; called once for each case.
        rows: SQL by name of each arm, by the arm's name, read from a tenant after its conversation.
        prompt_versions: of each arm, by the arm's name, sorted.
        concurrency: trials at once.
        deadline: seconds of ``time.monotonic`` after which no trial starts, and running ones end.
        admit: waits until a trial may start, and says why it must not; empty when it runs.
        turns: books what a turn costs past the gate, before it is sent and when it was answered.
        stop: why no further trial starts, given what came of those before; empty while one may.
        retries: whether trials that broke off are held again, as their strategies say.
        detect_language: tells the language of a reply; needed where a turn expects one.
        captured: arms whose system gives replies that were captured earlier, so that no turn's seconds say anything.
        simulator: plays the customer; needed where a scenario has a simulated user.
        custom: runs the rules and metrics that lie in the repository, by the arm's name.
    """

    systems: Mapping[str, SystemUnderTest]
    tenants: TenantProvisioner
    gateway: ModelGateway
    metric: Callable[[Assertion], Metric]
    rows: Mapping[str, Mapping[str, str]]
    prompt_versions: Mapping[str, tuple[str, ...]]
    progress: Progress
    concurrency: int = 4
    deadline: float | None = None
    admit: Callable[[Trial], AbstractAsyncContextManager[str]] = admit_all
    turns: TurnBooks = field(default_factory=FreeTurns)
    detect_language: DetectLanguage | None = None
    custom: Mapping[str, CustomCode] = field(default_factory=dict)
    simulator: CustomerSimulator | None = None
    captured: Collection[str] = ()
    stop: Callable[[Sequence[ScenarioResult]], str] = never_stop
    retries: bool = True


async def run_plan(plan: Plan, bench: Bench) -> tuple[ScenarioResult, ...]:
    """Run every trial of a plan.

    Returns:
        One result a trial, in the plan's order. A cancelled run returns what it has: trials that were
        not finished are ``NotRun``.
    """
    results: dict[int, ScenarioResult] = {}
    waiting = iter(enumerate(plan.trials))
    bench.progress.started(len(plan.trials))

    async def work() -> None:
        for index, trial in waiting:
            refusal = bench.stop(tuple(results.values()))
            results[index] = NotRun(trial, refusal) if refusal else await _retried(trial, bench)
            bench.progress.advanced(results[index])

    workers = [asyncio.ensure_future(work()) for _ in range(min(bench.concurrency, len(plan.trials)))]
    interrupted = "the run was cancelled"
    try:
        await asyncio.gather(*workers)
    except asyncio.CancelledError:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    finally:
        bench.progress.finished()
    return tuple(results.get(index) or NotRun(trial, interrupted) for index, trial in enumerate(plan.trials))


async def _retried(trial: Trial, bench: Bench) -> ScenarioResult:
    retries = trial.scenario.strategy.retries if bench.retries else 0
    return await with_retries(lambda: _within_deadline(trial, bench), retries)


async def _within_deadline(trial: Trial, bench: Bench) -> ScenarioResult:
    if bench.deadline is None:
        return await _admitted(trial, bench)
    left = bench.deadline - time.monotonic()
    if left <= 0:
        return NotRun(trial, "the run's deadline had passed")
    try:
        return await asyncio.wait_for(_admitted(trial, bench), left)
    except TimeoutError:
        return NotRun(trial, "the run's deadline passed while it ran")


async def _admitted(trial: Trial, bench: Bench) -> ScenarioResult:
    async with bench.admit(trial) as refusal:
        return NotRun(trial, refusal) if refusal else await run_trial(trial, bench)


async def run_trial(trial: Trial, bench: Bench) -> ScenarioResult:
    """Run one trial to its result; what breaks becomes ``Errored``, with all that was measured besides."""
    started = time.monotonic()
    conversation = _Conversation(trial, bench)
    seconds = trial.scenario.strategy.timeout_seconds
    limit, checks = asyncio.timeout(seconds), tuple[Check, ...]()
    try:
        async with limit:
            transcript = await conversation.hold()
            checks = check_transcript(trial.scenario, transcript, bench.detect_language)
            more, scores, errors = await _measure(Case(trial.scenario, transcript, trial.number, trial.arm.name), bench)
    except Exception as error:  # noqa: BLE001 - a defect in one trial must not lose what the others measured
        late = f"the trial did not end within {seconds:g} s (strategy.timeout_seconds)" if limit.expired() else ""
        phase, message = (Phase.TIMEOUT, late) if late else _told(error)
        return Errored(trial, phase, message, conversation.so_far(), time.monotonic() - started, checks)
    checks += more
    if errors:
        phase, message = _told(errors[0])
        return Errored(trial, phase, message, transcript, time.monotonic() - started, checks, scores)
    return Scored(trial, transcript, checks, scores, time.monotonic() - started)


class _Conversation:
    """One trial's conversation in its own tenant."""

    def __init__(self, trial: Trial, bench: Bench) -> None:
        self._trial = trial
        self._bench = bench
        self._exchanges: list[Exchange] = []
        self._told: set[str] = set()

    async def hold(self) -> Transcript:
        """Provision, speak every turn, read the rows; the tenant is gone afterwards."""
        scenario, arm = self._trial.scenario, self._trial.arm
        async with self._bench.tenants.provision(scenario.id, arm, self._trial.number) as tenant:
            access = self._bench.gateway.open_scenario(scenario.id, self._trial.number, arm.name)
            try:
                session = await self._bench.systems[arm.name].open(scenario, tenant, access.environment)
                try:
                    await self._speak(session, access)
                finally:
                    await session.close()
            finally:
                access.close()
            _raise_first(access.problems)
            rows = await self._bench.tenants.read(tenant, self._bench.rows.get(arm.name, {}))
        return Transcript(
            scenario_id=scenario.id,
            exchanges=tuple(self._exchanges),
            rows=rows,
            prompt_versions=self._bench.prompt_versions.get(arm.name, ()),
            models=tuple(sorted({*access.models, *self._told})),
        )

    async def _speak(self, session: Session, access: ModelAccess) -> None:
        for turn in self._trial.scenario.turns:
            await self._take(turn, session, access)
        user = self._trial.scenario.simulated_user
        for ordinal in range(user.most_turns if user is not None else 0):
            message = await self._improvise(ordinal)
            if message is None:
                return
            await self._take(Turn(user=message, line=self._trial.scenario.line), session, access)

    async def _improvise(self, ordinal: int) -> str | None:
        user, simulator = self._trial.scenario.simulated_user, self._bench.simulator
        if user is None or simulator is None:
            raise ConfigurationError("Nobody plays the simulated customer.", "Configure `simulator`.")
        return await simulator.next_message(self._trial, user, self._exchanges, ordinal)

    async def _take(self, turn: Turn, session: Session, access: ModelAccess) -> None:
        scenario_id, arm = self._trial.scenario.id, self._trial.arm.name
        await self._bench.turns.before(scenario_id, arm)
        before, started = access.calls, time.monotonic()
        try:
            reply = await session.send(turn)
        except WorkerError:
            _raise_first(access.problems)
            raise
        _raise_first(access.problems)
        seconds, calls = time.monotonic() - started, access.calls
        self._told.update(call.model for call in session.told_usage)
        replayed = arm in self._bench.captured or calls.replayed > before.replayed
        self._exchanges.append(Exchange(turn, reply, seconds, None, replayed))
        past = await self._bench.turns.after(scenario_id, session.told_usage, arm)
        self._exchanges[-1] = replace(self._exchanges[-1], usd=_list_price(before, calls, past))

    def so_far(self) -> Transcript | None:
        """The conversation up to where it broke off."""
        if not self._exchanges:
            return None
        return Transcript(self._trial.scenario.id, tuple(self._exchanges))


def _list_price(before: AnsweredCalls, after: AnsweredCalls, past: Usd | None) -> Usd | None:
    """What a turn's model calls cost, through the gate and past it; None where one has no list price."""
    if before.usd is None or after.usd is None or past is None:
        return None
    return after.usd - before.usd + past


def _raise_first(problems: Sequence[RatibaError]) -> None:
    """A request that was not answered decides, even when the system made up a reply without it."""
    if problems:
        raise problems[0]


async def _measure(case: Case, bench: Bench) -> tuple[tuple[Check, ...], tuple[Score, ...], tuple[Exception, ...]]:
    """The checks of the repository's own rules, every score that could be had, and what the others ran into."""
    assertions = case.scenario.assertions
    outcomes = await asyncio.gather(
        *(_score(assertion, case, bench) for assertion in assertions), return_exceptions=True
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
            raise outcome
    scores = tuple(outcome for outcome in outcomes if isinstance(outcome, Score))
    errors = tuple(outcome for outcome in outcomes if isinstance(outcome, Exception))
    try:
        checks = tuple(await check_custom_rules(case, bench.custom.get(case.arm)))
    except RatibaError as error:
        return (), scores, (*errors, error)
    return checks, scores, errors


async def _score(assertion: Assertion, case: Case, bench: Bench) -> Score:
    code = bench.custom.get(case.arm)
    if not is_address(assertion.metric):
        metric = bench.metric(assertion)
        if isinstance(metric, CodeMetric) and code is not None:
            metric = metric.with_code(code)
        return await metric.measure(case, assertion.threshold)
    if code is None:
        raise ConfigurationError(f"The system cannot run the metric {assertion.metric!r}.", "Remove it.")
    return await CustomMetric(assertion, code).measure(case, assertion.threshold)


_PHASES: tuple[tuple[type[RatibaError], Phase], ...] = (
    (DatabaseError, Phase.TENANT),
    (RecordingError, Phase.RECORDING),
    (BudgetError, Phase.BUDGET),
    (LedgerError, Phase.LEDGER),
    (ProviderError, Phase.PROVIDER),
    (JudgeError, Phase.JUDGE),
    (WorkerTimeoutError, Phase.TIMEOUT),
    (WorkerError, Phase.SYSTEM),
    (ConfigurationError, Phase.METRIC),
)


def _told(error: Exception) -> tuple[Phase, str]:
    """Where a trial broke off, and in which words."""
    if isinstance(error, RatibaError):
        phase = next((phase for kind, phase in _PHASES if isinstance(error, kind)), Phase.METRIC)
        return phase, str(error)
    return Phase.INTERNAL, f"the gate itself failed: {type(error).__name__}: {error}"
