"""Each metric by itself on both arms, for people to read; the verdict looks at composites only."""

from collections.abc import Sequence
from statistics import fmean

from ratiba_action.model.comparison import Comparison, MetricComparison, Pair, Tier
from ratiba_action.verdict.interval import t_interval

_CONFIDENCE = 0.90
_ROUNDING = 1e-9


def compare_metrics(pairs: Sequence[Pair]) -> tuple[MetricComparison, ...]:
    """A row for each metric, in order of name.

    Args:
        pairs: all scenarios that can be compared.
    """
    names = sorted({name for pair in pairs for name in pair.metrics})
    return tuple(_row(name, [pair.metrics[name] for pair in pairs if name in pair.metrics]) for name in names)


def _row(name: str, means: Sequence[tuple[float, float]]) -> MetricComparison:
    changes = [head - base for base, head in means]
    interval = t_interval(changes, _CONFIDENCE) if len(changes) > 1 else None
    return MetricComparison(
        name,
        len(means),
        base=fmean(base for base, _ in means),
        head=fmean(head for _, head in means),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )


def metric_tier(row: MetricComparison, whole: Comparison) -> Tier:
    """Where one metric stands, by the rules of the whole; shown, and nothing is decided by it.

    A metric is a regression only where the whole is one and the metric fell with it.

    Args:
        row: of the metric.
        whole: the comparison that it is part of.
    """
    change = row.head - row.base
    fell = change < -_ROUNDING if whole.exact or row.high is None else row.high < 0
    rose = change > _ROUNDING if whole.exact or row.low is None else row.low > 0
    if fell and whole.tier is Tier.REGRESSION:
        return Tier.REGRESSION
    if whole.exact:
        return Tier.IMPROVED if rose else Tier.WITHIN_NOISE
    if row.low is None or fell or (whole.margin is not None and row.low <= -whole.margin):
        return Tier.UNCLEAR
    return Tier.IMPROVED if rose else Tier.WITHIN_NOISE
