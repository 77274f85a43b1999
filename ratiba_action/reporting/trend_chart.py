"""Where the marks of a small chart of one metric over runs stand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ratiba_action.model.history import Trend, TrendPoint

WIDTH, HEIGHT = 240, 44
_PADDING = 5
_LEAST_SPAN = 0.1


@dataclass(frozen=True, slots=True)
class TrendChart:
    """A drawing of one metric; positions are units of the drawing.

    Args:
        lines: the points of each part that can be compared, as SVG writes them; one for each part of two or more.
        dots: each run's place, and what it is in words.
        threshold: height of the threshold's line; None where it is no number.
    """

    lines: tuple[str, ...]
    dots: tuple[tuple[float, float, str], ...]
    threshold: float | None


def trend_chart(trend: Trend) -> TrendChart | None:
    """The chart; None where there is no number to draw."""
    points = [point for point in trend.points if math.isfinite(point.mean)]
    if not points:
        return None
    threshold = points[-1].threshold
    values = [point.mean for point in points] + ([threshold] if math.isfinite(threshold) else [])
    middle, span = (min(values) + max(values)) / 2, max(max(values) - min(values), _LEAST_SPAN)
    steps = max(len(points) - 1, 1)
    across = {id(point): _PADDING + at * (WIDTH - 2 * _PADDING) / steps for at, point in enumerate(points)}

    def height(value: float) -> float:
        return round(HEIGHT / 2 - (value - middle) / span * (HEIGHT - 2 * _PADDING), 1)

    def place(point: TrendPoint) -> tuple[float, float]:
        return round(across[id(point)], 1), height(point.mean)

    parts = [[place(point) for point in part.points if id(point) in across] for part in trend.segments]
    return TrendChart(
        lines=tuple(_path(part) for part in parts if len(part) > 1),
        dots=tuple((*place(point), _told(point)) for point in points),
        threshold=height(threshold) if math.isfinite(threshold) else None,
    )


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in places)


def _told(point: TrendPoint) -> str:
    commit = f" {point.commit[:12]}" if point.commit else ""
    return f"{point.started_at.date().isoformat()}{commit}: {point.mean:.4g}"
