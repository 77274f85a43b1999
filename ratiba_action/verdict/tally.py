"""Counts over the results of a run, the same for the verdict, the comment and the outputs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ratiba_action.model.case_file import CaseThresholdStatus
from ratiba_action.model.comparison import Tier
from ratiba_action.model.measurement import Errored, ScenarioResult, Score, Scored
from ratiba_action.model.values import Usd, mean
from ratiba_action.model.verdict import Conclusion, Report, VariantResult
from ratiba_action.verdict.quarantine import day_of, quarantine_in_force
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, outcomes_of, standing


def deciding_outcomes(report: Report) -> tuple[ScenarioOutcome, ...]:
    """Scenarios that count for the verdict, in the report's order."""
    day = day_of(report.started_at)
    return tuple(outcome for outcome in outcomes_of(report.results) if not quarantine_in_force(outcome.scenario, day))


_ONE_SIDED = 0.95
"""The lower end of a 90 % interval is a bound that holds with this confidence."""


def is_regression(report: Report) -> bool:
    """Whether the comparison with the base is why the run fails."""
    compared = report.verdict.comparison
    return report.verdict.conclusion is Conclusion.FAILED and compared is not None and compared.tier is Tier.REGRESSION


def regression_detected(report: Report) -> bool:
    """Whether the comparison with the base, or something exact, fails a run that was compared with its base.

    Exact are checks, deterministic scores, critical scenarios and the thresholds of cases. A pass rate or a mean below
    its threshold is none: it may have been as low before.
    """
    if report.verdict.conclusion is not Conclusion.FAILED:
        return False
    declined = report.verdict.decline is not None and report.verdict.decline.confirmed
    found = report.verdict.comparison
    if found is None:
        return declined
    if found.tier is Tier.NOT_COMPARABLE:  # no score, but perhaps checks that the base passes
        return declined or any(not flip.passes for flip in found.flips)
    failed = any(outcome.standing is Standing.FAILED for outcome in deciding_outcomes(report))
    gates = any(gate.status is CaseThresholdStatus.FAILED for scores in report.data_sets for gate in scores.gates)
    return is_regression(report) or failed or gates or declined


def confidence(report: Report) -> float | None:
    """Confidence in what the comparison with the base says, 0 to 1; None where it establishes nothing.

    Of a confirmed drop of the mean it is 1 less the p-value over all data. Of a drop of the margin that is ruled out,
    and of a rise, it is that of the lower end of the interval. Answers that were replayed once leave nothing to chance.
    """
    compared = report.verdict.comparison
    if compared is None or compared.tier in (Tier.NOT_COMPARABLE, Tier.UNCLEAR):
        return None
    if compared.exact:
        return 1.0
    if compared.tier is Tier.REGRESSION:
        return 1 - compared.confirm_p if compared.mean_fell and compared.confirm_p is not None else None
    established = compared.margin is not None or compared.tier is Tier.IMPROVED
    return _ONE_SIDED if compared.low is not None and established else None


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
    """One metric over all scenarios that it measured.

    Args:
        mean: of the values, 0 to 1.
        passed: number of scores that reach their threshold.
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
    deciding = deciding_outcomes(report)
    kinds = [status_of(outcome.deciding) for outcome in deciding]
    passed, failed, errored, not_run = (kinds.count(kind) for kind in ("passed", "failed", "errored", "not run"))
    return Tally(passed, failed, errored, not_run, quarantined=len(outcomes_of(report.results)) - len(deciding))


def status_of(result: ScenarioResult) -> str:
    """``passed``, ``failed``, ``errored`` or ``not run``."""
    if isinstance(result, Scored):
        return "passed" if result.passed else "failed"
    if isinstance(result, Errored):
        return "failed" if standing(result) is Standing.FAILED else "errored"
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
        mean=mean([score.value for score in scores]),
        passed=sum(score.passed for score in scores),
        thresholds=tuple(sorted({score.threshold for score in scores})),
        cached=sum(score.cached for score in scores),
    )


def variant_result(name: str, differences: Sequence[str], report: Report, list_price: Usd) -> VariantResult:
    """Counts of conversations, and the mean of each metric over the conversations that it measured.

    Args:
        name: of the variant; empty for the system as it is.
        differences: what differs from the system as it is.
    """
    counts = tally(report)
    means = {summary.metric: summary.mean for summary in summarise_metrics(report.results)}
    verdict = report.verdict
    return VariantResult(
        name=name,
        differences=tuple(differences),
        passed=counts.passed,
        failed=counts.failed,
        errored=counts.errored,
        not_run=counts.not_run,
        means=means,
        list_price=list_price,
        conclusion=verdict.conclusion.value,
        reason="" if verdict.conclusion is Conclusion.PASSED else verdict.reason,
    )
