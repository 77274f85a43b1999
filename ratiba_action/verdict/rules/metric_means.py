"""The mean of a metric over all scenarios must reach what the configuration asks of it."""

from ratiba_action.model.comparison import REPLAY
from ratiba_action.model.mean import mean
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.verdict.interval import mean_below_p
from ratiba_action.verdict.metric_means import metric_values
from ratiba_action.verdict.multiplicity import holm
from ratiba_action.verdict.rules.findings import Findings

_LEVEL = 0.025
"""Chance that a run fails though every mean is at its threshold, all thresholds together."""


def judge_metric_means(findings: Findings) -> Verdict | None:
    """Failed when the mean of a metric is below its threshold; a metric that nothing was measured by is left out.

    Each scenario counts once. Where answers vary by chance the mean must be below the threshold by more than chance
    explains: a one-sided t test of each metric, corrected for their number (Holm 1979).
    """
    thresholds, values = findings.evidence.limits.metric_thresholds, _values(findings)
    names = [name for name in sorted(thresholds) if name in values]
    if findings.evidence.answers == REPLAY:
        low = [name for name in names if mean(values[name]) < thresholds[name]]
    else:
        adjusted = holm([mean_below_p(values[name], thresholds[name]) for name in names])
        low = [name for name, p in zip(names, adjusted, strict=True) if p <= _LEVEL]
    if not low:
        return None
    told = "; ".join(f"{name} {mean(values[name]):.4g}, threshold {thresholds[name]:.4g}" for name in low)
    reason = f"The mean over all scenarios is too low: {told}."
    return Verdict(Conclusion.FAILED, reason, f"Look at the scenarios with the lowest {low[0]}.")


def _values(findings: Findings) -> dict[str, list[float]]:
    """By metric, one value a scenario: the mean of its planned trials."""
    found: dict[str, list[float]] = {}
    for outcome in findings.deciding:
        for name, values in metric_values(outcome.counted).items():
            found.setdefault(name, []).append(mean(values))
    return found
