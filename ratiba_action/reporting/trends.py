"""Trends of metrics in words, for a terminal."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ratiba_action.model.history import AgreementPoint, Trend, TrendPoint
from ratiba_action.reporting.markdown import inline, table
from ratiba_action.reporting.wording import number
from ratiba_action.util.text import plural

WIDTH, HEIGHT = 240, 44
_PADDING = 5
_MIN_SPAN = 0.1


@dataclass(frozen=True, slots=True)
class TrendChart:
    """A drawing of one metric; positions are units of the drawing.

    Args:
        lines: SVG points of each comparable segment with two or more runs.
        dots: position and label of each run.
        threshold: height of the threshold's line; None without a threshold.
    """

    lines: tuple[str, ...]
    dots: tuple[tuple[float, float, str], ...]
    threshold: float | None


def trend_chart(trend: Trend) -> TrendChart | None:
    """The chart; None if there is no number to draw."""
    points = [point for point in trend.points if math.isfinite(point.mean)]
    if not points:
        return None
    threshold = points[-1].threshold or math.nan
    values = [point.mean for point in points] + ([threshold] if math.isfinite(threshold) else [])
    middle, span = (min(values) + max(values)) / 2, max(max(values) - min(values), _MIN_SPAN)
    steps = max(len(points) - 1, 1)
    across = {id(point): _PADDING + at * (WIDTH - 2 * _PADDING) / steps for at, point in enumerate(points)}

    def height(value: float) -> float:
        return round(HEIGHT / 2 - (value - middle) / span * (HEIGHT - 2 * _PADDING), 1)

    def place(point: TrendPoint) -> tuple[float, float]:
        return round(across[id(point)], 1), height(point.mean)

    parts = [[place(point) for point in part.points if id(point) in across] for part in trend.segments]
    return TrendChart(
        lines=tuple(" ".join((f"{x},{y}" for x, y in part)) for part in parts if len(part) > 1),
        dots=tuple((*place(point), _point_label(point)) for point in points),
        threshold=height(threshold) if math.isfinite(threshold) else None,
    )


def _point_label(point: TrendPoint) -> str:
    commit = f" {point.commit[:12]}" if point.commit else ""
    return f"{point.started_at.date().isoformat()}{commit}: {point.mean:.4g}"


_BLOCKS = "▁▂▃▄▅▆▇█"
_GAP = " ╎ "


def render_trends(trends: Sequence[Trend], branch: str, last: int) -> str:
    """A row for each metric, and below it why a line is interrupted.

    Args:
        trends: untrusted text from the history.
    """
    title = f"## Trends of {inline(branch)}"
    if not trends:
        return f"{title}\n\nThe metrics history has no complete, blocking run of this branch.\n"
    days = " / ".join(str(window.days) for window in trends[0].windows)
    columns = ("metric", "judge", "runs:", "first comparable:", "latest:", "threshold:", f"mean of {days} days:")
    header = (*columns, f"the last {plural(last, 'run')}")
    rows = [_row(trend) for trend in trends]
    breaks = [f"- {notes}" for trend in trends for notes in describe_breaks(trend)]
    notes = ["Runs before and after a gap in a line cannot be compared:\n\n" + "\n".join(breaks)] if breaks else []
    return "\n\n".join([title, table(header, rows), *notes]) + "\n"


def render_agreements(points: Sequence[AgreementPoint], drift: str | None) -> str:
    """A row for each run whose judges were compared, the latest first; empty without any.

    Args:
        points: untrusted text from the history, the oldest first.
        drift: a warning about the latest of them; None without one.
    """
    if not points:
        return ""
    header = ("run", "judge", "second judge", "n:", "same side:", "quadratic kappa:")
    rows = [
        (
            point.started_at.date().isoformat(),
            inline(point.judge_model),
            inline(point.second_model),
            str(point.pairs),
            "none" if point.same_side is None else f"{point.same_side:.0%}",
            "undefined" if point.kappa is None else number(point.kappa + 0),
        )
        for point in reversed(points)
    ]
    warning = f"\n{inline(drift)}\n" if drift else ""
    return f"\n## Agreement of the judges\n\n{table(header, rows)}\n{warning}"


def describe_breaks(trend: Trend) -> Iterator[str]:
    """Why each segment of a trend cannot be compared with the one before; Markdown."""
    for segment in trend.segments:
        if segment.why:
            day = segment.points[0].started_at.date().isoformat()
            yield f"{inline(trend.metric)}, from {day}: {inline(segment.why)}"


def _row(trend: Trend) -> tuple[str, ...]:
    points, latest = trend.points, trend.points[-1]
    oldest = trend.segments[-1].points[0]
    judge = inline(latest.judge_model) or "exact"
    shown = _sparkline(trend)
    return (
        inline(f"{trend.metric} {latest.version}"),
        judge,
        str(len(points)),
        number(oldest.mean),
        f"{number(latest.mean)} (n = {latest.count})",
        inline(describe_required(latest)),
        describe_windows(trend),
        shown,
    )


def describe_required(point: TrendPoint) -> str:
    """The thresholds of a metric in a run; runs of earlier versions have only the threshold of single scores."""
    return point.required or (number(point.threshold) if point.threshold > 0 else "none")


def describe_windows(trend: Trend) -> str:
    """The mean of each window, the shortest first; ``none`` for one without a comparable run."""
    return " / ".join("none" if window.mean is None else number(window.mean) for window in trend.windows)


def _sparkline(trend: Trend) -> str:
    """A block for each run, with gaps between segments that cannot be compared."""
    values = [point.mean for point in trend.points if math.isfinite(point.mean)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    span = max(high - low, _MIN_SPAN)
    middle = (low + high) / 2

    def block(point: TrendPoint) -> str:
        if not math.isfinite(point.mean):
            return "?"
        share = (point.mean - middle) / span + 0.5
        return _BLOCKS[min(max(int(share * len(_BLOCKS)), 0), len(_BLOCKS) - 1)]

    return _GAP.join("".join(block(point) for point in segment.points) for segment in trend.segments)
