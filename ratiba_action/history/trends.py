"""Joins the means of a metric over runs, as far as they can be compared."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from ratiba_action.model.history import Trend, TrendPoint, TrendSegment


def join_trends(points: Iterable[TrendPoint]) -> tuple[Trend, ...]:
    """A trend of each metric, in order of name.

    Args:
        points: of any metrics, in any order.
    """
    found: dict[str, list[TrendPoint]] = {}
    for point in sorted(points, key=lambda one: (one.metric, one.started_at)):
        found.setdefault(point.metric, []).append(point)
    return tuple(Trend(metric, _segments(ordered)) for metric, ordered in found.items())


def _segments(points: Sequence[TrendPoint]) -> tuple[TrendSegment, ...]:
    starts = [0, *(at for at, (before, after) in enumerate(pairwise(points), 1) if why_not_joined(before, after))]
    return tuple(
        TrendSegment(why_not_joined(points[start - 1], points[start]) if start else "", tuple(points[start:end]))
        for start, end in zip(starts, [*starts[1:], len(points)], strict=True)
    )


def why_not_joined(before: TrendPoint, after: TrendPoint) -> str:
    """Why no line may lead from one point to the next; empty where it may.

    The rules are those of a comparison with the base; a suite that changed holds other conversations.
    """
    changes = (
        ("the version is", before.version, after.version),
        ("the judge is", before.judge_model, after.judge_model),
        ("answers are", before.answers, after.answers),
    )
    told = [f"{what} {new or 'none'} and was {old or 'none'}" for what, old, new in changes if old != new]
    told += ["the suite changed"] if before.suite_version != after.suite_version else []
    return "; ".join(told)
