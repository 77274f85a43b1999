"""The mean of a metric over all conversations must reach what the configuration asks of it."""

from collections.abc import Sequence

from ratiba_action.core.comparison.runs import REPLAY
from ratiba_action.core.mean import mean
from ratiba_action.core.metric_means import metric_values
from ratiba_action.core.model.verdict import Conclusion, Verdict
from ratiba_action.core.statistics.interval import t_interval
from ratiba_action.core.verdict_rules.findings import Findings


def judge_metric_means(findings: Findings) -> Verdict | None:
    """Failed when the mean of a metric is below its threshold; a metric that nothing was measured by is left out.

    Where answers vary by chance the whole interval of the mean must be below it.
    """
    thresholds = findings.evidence.limits.metric_thresholds
    values = metric_values(trial for one in findings.deciding for trial in one.trials)
    varies = findings.evidence.answers != REPLAY
    low = [name for name in sorted(thresholds) if name in values and _highest(values[name], varies) < thresholds[name]]
    if not low:
        return None
    told = "; ".join(f"{name} {mean(values[name]):.4g}, at least {thresholds[name]:.4g} is asked" for name in low)
    reason = f"The mean over all conversations is too low: {told}."
    return Verdict(Conclusion.FAILED, reason, f"Look at the conversations with the lowest {low[0]}.")


def _highest(values: Sequence[float], varies: bool) -> float:  # noqa: FBT001 - private
    """What the mean may be at most, at 95 %."""
    return t_interval(values).high if varies and len(values) > 1 else mean(values)
