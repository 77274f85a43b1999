"""Counts over the results of a run, the same for the verdict, the comment and the outputs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ratiba_action.model.measurement import Errored, ScenarioResult, Score, Scored
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Report
from ratiba_action.verdict.report_outcomes import deciding_outcomes, quarantined_outcomes
from ratiba_action.verdict.trials import Standing, standing


@dataclass(frozen=True, slots=True)
class Tally:
    """How many scenarios ended in which way; those in quarantine are counted apart."""

    passed: int
    failed: int
    errored: int
    not_run: int
    quarantined: int = 0

    @property
    def total(self) -> int:
        """All scenarios that decide."""
        return self.passed + self.failed + self.errored + self.not_run


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric over all conversations that it measured.

    Args:
        count: number of scores.
        mean: of the values, 0 to 1.
        passed: number of scores that reach their threshold.
        thresholds: the different thresholds, ascending.
    """

    metric: str
    version: str
    judged: bool
    count: int
    mean: float
    passed: int
    thresholds: tuple[float, ...]
    cached: int


def tally(report: Report) -> Tally:
    """Count the scenarios of a report by how they ended."""
    kinds = [status_of(one.deciding) for one in deciding_outcomes(report)]
    passed, failed, errored, not_run = (kinds.count(kind) for kind in ("passed", "failed", "errored", "not run"))
    return Tally(passed, failed, errored, not_run, quarantined=len(quarantined_outcomes(report)))


def status_of(result: ScenarioResult) -> str:
    """``passed``, ``failed``, ``errored`` or ``not run``."""
    if isinstance(result, Scored):
        return "passed" if result.passed else "failed"
    if isinstance(result, Errored):
        return "failed" if standing(result) is Standing.BROKEN else "errored"
    return "not run"


def summarise_metrics(results: Iterable[ScenarioResult]) -> tuple[MetricSummary, ...]:
    """Summaries of each metric and version, in order of name."""
    groups: dict[tuple[str, str], list[Score]] = {}
    for result in results:
        for score in result.scores if isinstance(result, Scored) else ():
            groups.setdefault((score.metric, score.version), []).append(score)
    return tuple(_summary(*key, groups[key]) for key in sorted(groups))


def _summary(metric: str, version: str, scores: Sequence[Score]) -> MetricSummary:
    return MetricSummary(
        metric=metric,
        version=version,
        judged=any(score.judged for score in scores),
        count=len(scores),
        mean=sum(score.value for score in scores) / len(scores),
        passed=sum(score.passed for score in scores),
        thresholds=tuple(sorted({score.threshold for score in scores})),
        cached=sum(score.cached for score in scores),
    )


def scenario_of(result: ScenarioResult) -> Scenario:
    """The scenario that a result is about."""
    return result.trial.scenario
