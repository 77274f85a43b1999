"""The mean of a metric over all scenarios must reach what the configuration asks of it."""

from collections.abc import Iterable, Sequence

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.values import mean
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.verdict.interval import mean_below_p
from ratiba_action.verdict.rules.findings import Findings


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values by Holm's step-down method (Holm 1979), in the order given.

    Rejecting where they are at most a level keeps the chance of any false rejection at that level.

    Raises:
        ValueError: one is not between 0 and 1.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError(f"{list(p_values)!r} holds what is no p-value.")
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return tuple(adjusted)


def metric_values(results: Iterable[ScenarioResult]) -> dict[str, list[float]]:
    """The values of each metric, by its name, of every trial that ran to its end."""
    values: dict[str, list[float]] = {}
    for result in results:
        for score in result.scores if isinstance(result, Scored) else ():
            values.setdefault(score.metric, []).append(score.value)
    return values


_LEVEL = 0.025
"""Chance that a run fails though every mean is at its threshold, all thresholds together."""


def judge_metric_means(findings: Findings) -> Verdict | None:
    """Failed when the mean of a metric is below its threshold; a metric that nothing was measured by is left out.

    Each scenario counts once. Where answers vary by chance the mean must be below the threshold by more than chance
    explains: a one-sided t test of each metric, corrected for their number (Holm 1979).
    """
    thresholds, values = findings.evidence.limits.metric_thresholds, _values(findings)
    names = [name for name in sorted(thresholds) if name in values]
    if findings.evidence.answers == AnswerOrigin.REPLAY:
        low = [name for name in names if mean(values[name]) < thresholds[name]]
    else:
        adjusted = holm([mean_below_p(values[name], thresholds[name]) for name in names])
        low = [name for name, p in zip(names, adjusted, strict=True) if p <= _LEVEL]
    if not low:
        return None
    means = "; ".join(f"{name} {mean(values[name]):.4g}, threshold {thresholds[name]:.4g}" for name in low)
    reason = f"The mean over all scenarios is too low: {means}."
    return Verdict(Conclusion.FAILED, reason, f"Look at the scenarios with the lowest {low[0]}.")


def _values(findings: Findings) -> dict[str, list[float]]:
    """By metric, one value a scenario: the mean of its planned trials."""
    found: dict[str, list[float]] = {}
    for outcome in findings.deciding:
        for name, values in metric_values(outcome.counted).items():
            found.setdefault(name, []).append(mean(values))
    return found
