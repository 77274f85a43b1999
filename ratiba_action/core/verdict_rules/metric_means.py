"""The mean of a metric over all conversations must reach what the configuration asks of it."""

from ratiba_action.core.metric_means import metric_means
from ratiba_action.core.model.verdict import Conclusion, Verdict
from ratiba_action.core.verdict_rules.findings import Findings


def judge_metric_means(findings: Findings) -> Verdict | None:
    """Failed when the mean of a metric is below its threshold; a metric that nothing was measured by is left out."""
    thresholds = findings.evidence.limits.metric_thresholds
    means = metric_means(trial for one in findings.deciding for trial in one.trials)
    low = [name for name in sorted(thresholds) if name in means and means[name] < thresholds[name]]
    if not low:
        return None
    told = "; ".join(f"{name} {means[name]:.4g}, at least {thresholds[name]:.4g} is asked" for name in low)
    reason = f"The mean over all conversations is too low: {told}."
    return Verdict(Conclusion.FAILED, reason, f"Look at the conversations with the lowest {low[0]}.")
