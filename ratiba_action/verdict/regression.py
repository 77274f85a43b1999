"""Whether a run found that something got worse, and how sure it is of what it says against the base."""

from ratiba_action.model.comparison import Tier
from ratiba_action.model.data_set import GateStatus
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.verdict.report_outcomes import deciding_outcomes
from ratiba_action.verdict.trials import Standing

_ONE_SIDED = 0.95
"""The lower end of a 90 % interval is a bound that holds with this confidence."""


def is_regression(report: Report) -> bool:
    """Whether the comparison with the base is why the run fails."""
    compared = report.verdict.comparison
    return report.verdict.conclusion is Conclusion.FAILED and compared is not None and compared.tier is Tier.REGRESSION


def regression_detected(report: Report) -> bool:
    """Whether the comparison with the base, or something exact, fails the run.

    Exact are checks, deterministic scores, critical scenarios and the gates of data sets. A pass rate or a mean below
    its threshold is none: it may have been as low before.
    """
    if report.verdict.conclusion is not Conclusion.FAILED:
        return False
    broken = any(one.standing is Standing.BROKEN for one in deciding_outcomes(report))
    gates = any(gate.status is GateStatus.FAILED for one in report.data_sets for gate in one.gates)
    return is_regression(report) or broken or gates


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
    return _ONE_SIDED if compared.low is not None else None
