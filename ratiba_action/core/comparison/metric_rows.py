"""Each metric by itself on both arms, for people to read; the verdict looks at composites only."""

from collections.abc import Sequence
from statistics import fmean

from ratiba_action.core.model.comparison import MetricComparison, Pair
from ratiba_action.core.statistics.interval import t_interval

_CONFIDENCE = 0.90


def compare_metrics(pairs: Sequence[Pair], *, exact: bool) -> tuple[MetricComparison, ...]:
    """A row for each metric, in order of name.

    Args:
        pairs: all scenarios that can be compared.
        exact: nothing varies by chance, so that no interval is given.
    """
    names = sorted({name for pair in pairs for name in pair.metrics})
    return tuple(_row(name, [pair.metrics[name] for pair in pairs if name in pair.metrics], exact) for name in names)


def _row(name: str, means: Sequence[tuple[float, float]], exact: bool) -> MetricComparison:  # noqa: FBT001 - private
    changes = [head - base for base, head in means]
    interval = t_interval(changes, _CONFIDENCE) if len(changes) > 1 and not exact else None
    return MetricComparison(
        name,
        len(means),
        base=fmean(base for base, _ in means),
        head=fmean(head for _, head in means),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )
