"""Run a plan: for each trial a tenant, a conversation, its measurements; one failure never touches another trial."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import count

from ratiba_action.checks.checks import check_transcript
from ratiba_action.checks.conversation_events import result_events
from ratiba_action.checks.custom_code import (
    CUSTOM_VERSION,
    custom_check,
    custom_score,
    evidence,
    is_address,
    rule_addresses,
)
from ratiba_action.checks.failure_rules import (
    CUSTOM,
    REFUSE,
    decided_by_judge,
    failed_without_judge,
    is_undecided,
    phrases_alone,
    refusal_turn,
    unsure_words,
)
from ratiba_action.checks.system_exceptions import exception_check
from ratiba_action.errors import (
    BudgetError,
    ConfigurationError,
    DatabaseError,
    JudgeError,
    LedgerError,
    ProviderError,
    RatibaError,
    RecordingError,
    SystemRaisedError,
    WorkerError,
    WorkerTimeoutError,
)
from ratiba_action.metrics.judging.replay_judge import to_record
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.measurement import (
    Case,
    Check,
    Errored,
    NotRun,
    Phase,
    ScenarioResult,
    Score,
    Scored,
    threshold_of,
)
from ratiba_action.model.plan import Plan, Trial
from ratiba_action.model.scenario import Assertion, FailureRule
from ratiba_action.ports import CodeMetric, CustomCode, Metric
from ratiba_action.run.conversation import TrialConversation
from ratiba_action.run.services import RunServices
from ratiba_action.suite.building import refusal_assertions
from ratiba_action.util.patterns import SCENARIO_SECONDS, SearchTime
from ratiba_action.verdict.trials import Standing, standing


class CustomMetric:
    """Implements ``Metric`` by code of the repository.

    Args:
        assertion: names it as ``module:attribute``, with its parameters.
    """

    judged = False
    version = CUSTOM_VERSION

    def __init__(self, assertion: Assertion, code: CustomCode) -> None:
        self.name = assertion.metric
        self._assertion = assertion
        self._code = code

    async def measure(self, case: Case, _threshold: float) -> Score:
        """Score one case.

        Raises:
            ConfigurationError: the code cannot be imported, raised, hung, or answered something else than a score.
        """
        try:
            answer = await self._code.run(self.name, evidence(case, self._assertion.parameters))
        except WorkerError as error:
            raise ConfigurationError(
                f"The metric {self.name!r} gave no score: {error.problem}", error.remedy
            ) from error
        return custom_score(self._assertion, answer)


async def check_custom_rules(case: Case, code: CustomCode | None) -> Sequence[Check]:
    """One check for each custom rule of a scenario.

    Raises:
        ConfigurationError: nothing can run them; or one cannot be imported, raised, hung or answered something else.
    """
    rules = [rule for rule in case.scenario.rules if rule.type == CUSTOM]
    if rules and code is None:
        raise ConfigurationError(f"The system of {case.scenario.id!r} cannot run custom rules.", "Remove them.")
    checks: list[Check] = []
    for rule, address in [(checked, named) for checked in rules for named in rule_addresses(checked)]:
        try:
            answer = await code.run(address, evidence(case, {})) if code is not None else None
        except WorkerError as error:
            raise ConfigurationError(f"The rule {address!r} did not run: {error.problem}", error.remedy) from error
        checks.append(custom_check(rule, address, answer))
    return checks


RETRIED = frozenset({Phase.TENANT, Phase.PROVIDER, Phase.JUDGE, Phase.TIMEOUT})
"""Where a trial errors by chance: database, provider, judge's answer, time. What the system under test raised, a
recording that is missing and money that is gone would break it off again, or hide what the change did."""


async def with_retries(attempt: Callable[[], Awaitable[ScenarioResult]], retries: int) -> ScenarioResult:
    """The first attempt that did not error, or the last one, with why each one before it did.

    Args:
        attempt: runs the trial in a fresh tenant; called at least once.
        retries: how often it is called again at most.
    """
    result = await attempt()
    errors: list[str] = []
    for _ in range(retries):
        if not isinstance(result, Errored) or not may_retry(result):
            break
        again = await attempt()
        if isinstance(again, NotRun):
            # No time or no money is left: what is known of the attempt before says more.
            break
        errors.append(f"{result.phase.value} error: {result.message}")
        result = again
    return result if isinstance(result, NotRun) or not errors else replace(result, retried=tuple(errors))


def may_retry(result: Errored) -> bool:
    """Whether a trial errored by chance, and nothing exact was measured in it that failed."""
    return result.phase in RETRIED and standing(result) is not Standing.FAILED


_LATE = "the run's deadline passed while it ran"


async def run_plan(plan: Plan, services: RunServices) -> tuple[ScenarioResult, ...]:
    """Run every trial of a plan.

    Returns:
        One result a trial, in the plan's order. A cancelled run returns what it has: trials that were
        not finished are ``NotRun``.
    """
    results: dict[int, ScenarioResult] = {}
    rule = services.stop_rule()
    waiting = iter(enumerate(plan.trials))
    services.log.progress.started(len(plan.trials))

    async def work() -> None:
        for index, trial in waiting:
            refusal = rule.reason
            results[index] = NotRun(trial, refusal) if refusal else await _retried(trial, services)
            rule.add(results[index])
            _tell(results[index], services)
            services.log.progress.advanced(results[index])
            if len(results) == 1 and services.log.prepare_report is not None:
                asyncio.get_running_loop().run_in_executor(None, services.log.prepare_report)

    workers = [asyncio.ensure_future(work()) for _ in range(min(services.concurrency, len(plan.trials)))]
    interrupted = "the run was cancelled"
    try:
        await asyncio.gather(*workers)
    except asyncio.CancelledError:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    finally:
        services.log.progress.finished()
    for index, trial in enumerate(plan.trials):
        if index not in results:
            results[index] = NotRun(trial, interrupted)
            _tell(results[index], services)
    return tuple(results[index] for index in range(len(plan.trials)))


def _tell(result: ScenarioResult, services: RunServices) -> None:
    for event in result_events(result):
        services.log.events.emit(event)


async def _retried(trial: Trial, services: RunServices) -> ScenarioResult:
    retries, attempts = trial.scenario.strategy.retries if services.retries else 0, count(1)
    return await with_retries(lambda: _within_deadline(trial, services, next(attempts)), retries)


async def _within_deadline(trial: Trial, services: RunServices, attempt: int) -> ScenarioResult:
    if services.deadline is None:
        return await _admitted(trial, services, attempt)
    left = services.deadline - time.monotonic()
    if left <= 0:
        return NotRun(trial, "the run's deadline had passed")
    try:
        return await asyncio.wait_for(_admitted(trial, services, attempt), left)
    except TimeoutError:
        return NotRun(trial, _LATE)


async def _admitted(trial: Trial, services: RunServices, attempt: int) -> ScenarioResult:
    async with services.calls.admit(trial) as refusal:
        return NotRun(trial, refusal) if refusal else await _run_trial(trial, services, attempt)


async def _run_trial(trial: Trial, services: RunServices, attempt: int) -> ScenarioResult:
    """Run one trial to its result; what breaks becomes ``Errored``, with all that was measured besides."""
    started = time.monotonic()
    conversation = TrialConversation(trial, services, attempt)
    seconds = trial.scenario.strategy.timeout_seconds
    limit, checks, undecided = asyncio.timeout(seconds), tuple[Check, ...](), tuple[FailureRule, ...]()
    try:
        async with limit:
            transcript = await conversation.run()
            if services.deadline is not None and time.monotonic() >= services.deadline:
                # Reading and masking took the processor without a pause, so that no timer could end the trial.
                return NotRun(trial, _LATE)
            undecided = tuple(rule for rule in trial.scenario.rules if is_undecided(rule, transcript))
            decided = tuple(rule for rule in trial.scenario.rules if rule not in undecided)
            known = replace(trial.scenario, rules=decided)
            checks = check_transcript(known, transcript, services.detect_language, _search_time(services))
            checks += (*conversation.row_checks, *conversation.request_checks, *conversation.goal_checks)
            more, scores, errors = await _measure(
                Case(trial.scenario, transcript, trial.number, trial.arm.name), undecided, services
            )
            errors += (*conversation.unasked, *conversation.unseen_requests())
    except Exception as error:  # noqa: BLE001 - a defect in one trial must not lose what the others measured
        late = f"the trial did not end within {seconds:g} s (strategy.timeout_seconds)" if limit.expired() else ""
        phase, message = (Phase.TIMEOUT, late) if late else _phase_and_message(error, conversation.phase_of(error))
        checks = checks or conversation.checks_so_far(_search_time(services))
        if isinstance(error, SystemRaisedError) and not late:
            checks += (exception_check(error.kind, error.place, error.message, conversation.turn),)
        message, remedy = _without_remedy(error, message)
        spoken = conversation.so_far()
        if trial.scenario.critical and spoken is not None:  # the judge was still being asked
            lost = (failed_without_judge(rule, spoken, message, remedy) for rule in undecided)
            checks += tuple(check for check in lost if check is not None)
        return Errored(
            trial,
            phase,
            message,
            spoken,
            time.monotonic() - started,
            checks,
            remedy=remedy,
            suspected=conversation.suspected(_search_time(services)),
        )
    checks += more
    if errors:
        phase, message = _phase_and_message(errors[0], Phase.METRIC)
        message, remedy = _without_remedy(errors[0], message)
        seconds = time.monotonic() - started
        return Errored(trial, phase, message, transcript, seconds, checks, scores, remedy=remedy)
    return Scored(trial, transcript, checks, scores, time.monotonic() - started)


def _without_remedy(error: Exception, message: str) -> tuple[str, str]:
    """What is missing in the recordings or the budget, apart from what ends it: that may be for many scenarios."""
    remedy = error.remedy if isinstance(error, RecordingError | BudgetError) else ""
    return (message.removesuffix(f" {remedy}"), remedy) if remedy else (message, "")


def _search_time(services: RunServices) -> SearchTime:
    """Time for the patterns of a scenario: a search holds up the whole run, which has a deadline."""
    left = SCENARIO_SECONDS if services.deadline is None else services.deadline - time.monotonic()
    return SearchTime(min(SCENARIO_SECONDS, left), time.monotonic)


async def _measure(
    case: Case, undecided: Sequence[FailureRule], services: RunServices
) -> tuple[tuple[Check, ...], tuple[Score, ...], tuple[Exception, ...]]:
    """The checks of rules that need a judge or code of the repository, every score, and what the others ran into."""
    outcomes = await asyncio.gather(
        *(_score(assertion, case, services) for assertion in case.scenario.assertions),
        *(_judge_refusal(rule, case, services) for rule in undecided),
        return_exceptions=True,
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
            raise outcome
    scores = tuple(outcome for outcome in outcomes if isinstance(outcome, Score))
    checks = tuple(outcome for outcome in outcomes if isinstance(outcome, Check))
    errors = tuple(outcome for outcome in outcomes if isinstance(outcome, Exception))
    try:
        checks += tuple(await check_custom_rules(case, services.arms[case.arm].custom))
    except RatibaError as error:
        return checks, scores, (*errors, error)
    return checks, scores, errors


async def _judge_refusal(rule: FailureRule, case: Case, services: RunServices) -> Check:
    """Let the judge decide about a reply that phrases cannot tell; its answer is exact, as every rule is.

    Where it cannot, a critical scenario fails if open phrases do not see a refusal either: an error alone would stop
    no merge in an advisory run.

    Raises:
        RatibaError: the judge cannot be asked, or gave no answer.
    """
    (assertion,) = refusal_assertions([rule])
    try:
        score = await _score(assertion, case, services)
    except RatibaError as error:
        unrecorded = isinstance(error, RecordingError)
        why = "no answer is recorded" if unrecorded else error.problem
        remedy = f"{to_record(case.scenario.id)}." if unrecorded else error.remedy
        lost = failed_without_judge(rule, case.transcript, why, remedy) if case.scenario.critical else None
        if lost is None:
            raise _with_reply(error, rule, case) from error
        return lost
    return decided_by_judge(rule, case.transcript, score)


def _with_reply(error: RatibaError, rule: FailureRule, case: Case) -> RatibaError:
    """The error with the reply that it leaves undecided, and what helps about that."""
    unsure, alone = unsure_words(rule, case.transcript), phrases_alone(refusal_turn(rule.value))
    if isinstance(error, RecordingError):
        problem = f"{unsure}, and no judge's answer is recorded for it."
        return RecordingError(problem, f"{to_record(case.scenario.id)}; without one, {alone}.")
    if isinstance(error, ConfigurationError):
        problem = f"{unsure}, and no judge can decide {REFUSE}: {error.problem}"
        return ConfigurationError(problem, f"{error.remedy} Or {alone}")
    return error


async def _score(assertion: Assertion, case: Case, services: RunServices) -> Score:
    """The score of an assertion, under its label: of one metric there may be several."""
    metric = _metric(assertion, case, services)
    score = await metric.measure(case, threshold_of(case.scenario, assertion, metric.version))
    # Which version a metric of the repository has is known once it has answered.
    threshold = threshold_of(case.scenario, assertion, score.version)
    return replace(score, metric=assertion.label, threshold=threshold)


def _metric(assertion: Assertion, case: Case, services: RunServices) -> Metric:
    code = services.arms[case.arm].custom
    if not is_address(assertion.metric) or is_judged(assertion.metric, assertion.parameters):
        metric = services.metric(assertion)
        return metric.with_code(code) if isinstance(metric, CodeMetric) and code is not None else metric
    if code is None:
        raise ConfigurationError(f"The system cannot run the metric {assertion.metric!r}.", "Remove it.")
    return CustomMetric(assertion, code)


_PHASES: tuple[tuple[type[RatibaError], Phase], ...] = (
    (DatabaseError, Phase.TENANT),
    (RecordingError, Phase.RECORDING),
    (BudgetError, Phase.BUDGET),
    (LedgerError, Phase.LEDGER),
    (ProviderError, Phase.PROVIDER),
    (JudgeError, Phase.JUDGE),
    (WorkerTimeoutError, Phase.TIMEOUT),
    (WorkerError, Phase.SYSTEM),
)


def _phase_and_message(error: Exception, otherwise: Phase) -> tuple[Phase, str]:
    """Where a trial errored, and in which words; ``otherwise`` where the kind of error does not tell."""
    if isinstance(error, RatibaError):
        return next((phase for kind, phase in _PHASES if isinstance(error, kind)), otherwise), str(error)
    return Phase.INTERNAL, f"the gate itself failed: {type(error).__name__}: {error}"
