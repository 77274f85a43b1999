"""What failed in the evaluation of a trial: each is said by an ``EVAL_FAIL`` event, and any sets the result's flag."""

from collections.abc import Iterator

from ratiba_action.model.event import EvaluationFailed
from ratiba_action.model.measurement import Check, Errored, NotRun, ScenarioResult, Score


def evaluation_failures(result: ScenarioResult) -> Iterator[tuple[int, EvaluationFailed]]:
    """Each check that does not hold, each deciding score below its threshold, and where the trial broke off.

    A trial that was not run failed at nothing.

    Yields:
        The number of the turn, from 1, 0 for the whole conversation; and what failed.
    """
    if isinstance(result, NotRun):
        return
    for check in result.checks:
        if not check.passed:
            yield check.turn, _of_check(check)
    for score in result.deciding_scores:
        if not score.passed:
            yield 0, _of_score(score)
    if isinstance(result, Errored):
        yield 0, EvaluationFailed("error", result.phase.value, reason=result.message)


def _of_check(check: Check) -> EvaluationFailed:
    return EvaluationFailed("check", check.kind, check.expected, check.got, check.what)


def _of_score(score: Score) -> EvaluationFailed:
    return EvaluationFailed("score", score.metric, f"at least {score.threshold:g}", f"{score.value:g}", score.reason)
