"""Drawings as positions; the templates write them as SVG, so that no page needs a script to show one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

WIDTH, HEIGHT = 640, 140
_PADDING = 8
_MIN_SPAN = 0.05
_BAR, _GAP, STRIP_HEIGHT = 7, 1, 18
_TOPS = {"passed": 10, "failed": 0, "incomplete": 5}
"""Of each bar: its height shows the outcome too, not only its colour."""

Point = tuple[datetime, float]


@dataclass(frozen=True, slots=True)
class LineChart:
    """Values over time; positions are units of the drawing.

    Args:
        lines: SVG points of each part that can be joined.
        dots: of parts with a single value.
        threshold: height of its line; None without one.
        low: the least value shown, and ``high`` the greatest.
    """

    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    threshold: float | None
    low: float
    high: float
    first: datetime
    last: datetime


def line_chart(parts: Sequence[Sequence[Point]], threshold: float | None = None) -> LineChart | None:
    """The chart; None if there is no number to draw.

    Args:
        parts: points in order of time; no line leads from one part to the next.
        threshold: shown as a line; None for none.
    """
    drawn = [[point for point in part if math.isfinite(point[1])] for part in parts]
    points = [point for part in drawn for point in part]
    if not points:
        return None
    values = [value for _, value in points] + ([threshold] if threshold is not None else [])
    low, high = min(values), max(values)
    middle, span = (low + high) / 2, max(high - low, _MIN_SPAN)
    first, last = min(at for at, _ in points), max(at for at, _ in points)
    seconds = (last - first).total_seconds() or 1.0

    def height(value: float) -> float:
        return round(HEIGHT / 2 - (value - middle) / span * (HEIGHT - 2 * _PADDING), 1)

    def place(point: Point) -> tuple[float, float]:
        share = (point[0] - first).total_seconds() / seconds
        return round(_PADDING + share * (WIDTH - 2 * _PADDING), 1), height(point[1])

    return LineChart(
        lines=tuple(" ".join("{},{}".format(*place(each)) for each in part) for part in drawn if len(part) > 1),
        dots=tuple(place(part[0]) for part in drawn if len(part) == 1),
        threshold=None if threshold is None else height(threshold),
        low=min(value for _, value in points),
        high=max(value for _, value in points),
        first=first,
        last=last,
    )


@dataclass(frozen=True, slots=True)
class Strip:
    """One bar for each run, the oldest first.

    Args:
        paths: SVG path of the bars of each status.
        label: the same in words.
    """

    width: int
    paths: tuple[tuple[str, str], ...]
    label: str


def strip_of(marks: Sequence[str]) -> Strip:
    """The strip.

    Args:
        marks: a status for each run; empty where there is none.
    """
    paths = []
    for status, top in _TOPS.items():
        bars = [
            f"M{at * (_BAR + _GAP)} {top}h{_BAR}V{STRIP_HEIGHT}h-{_BAR}z" for at, m in enumerate(marks) if m == status
        ]
        paths += [(status, "".join(bars))] if bars else []
    counts = [(status, sum(mark == status for mark in marks)) for status in _TOPS]
    label = ", ".join(f"{count} {status}" for status, count in counts if count) or "never run"
    return Strip(max(len(marks), 1) * (_BAR + _GAP), tuple(paths), f"Last {len(marks)} runs, the oldest first: {label}")
