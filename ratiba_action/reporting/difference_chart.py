"""Where the marks of a chart of differences stand: one line a metric, its interval and its middle."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ratiba_action.reporting.comparison_words import Row, signed_points

WIDTH = 640
LABELS = 250
"""Room for the names on the left, in units of the drawing."""

LINE = 26
_PADDING = 20
_LEAST_SPAN = 0.02


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of the chart; positions are units of the drawing."""

    row: Row
    y: int
    middle: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of differences around zero.

    Args:
        zero: where no difference lies.
        margin: where the drop lies that has to be ruled out; None where it is out of sight or unknown.
        ends: in words, of the leftmost and rightmost difference.
    """

    marks: tuple[Mark, ...]
    height: int
    zero: float
    margin: float | None
    ends: tuple[str, str]


def chart_of(rows: Sequence[Row], margin: float | None) -> Chart | None:
    """The chart; None where there is no number to draw.

    Args:
        rows: of the comparison; those without a finite difference are left out.
        margin: drop that has to be ruled out, as a share of 1.
    """
    drawn = [row for row in rows if all(math.isfinite(value) for value in _values(row))]
    if not drawn:
        return None
    values = [abs(value) for row in drawn for value in _values(row)]
    span = max(*values, margin if margin is not None and math.isfinite(margin) else 0.0, _LEAST_SPAN) * 1.1

    def place(value: float) -> float:
        room = WIDTH - LABELS - 2 * _PADDING
        return round(LABELS + _PADDING + (value + span) / (2 * span) * room, 1)

    marks = tuple(
        Mark(row, number * LINE + LINE // 2, place(row.difference), place(_ends(row)[0]), place(_ends(row)[1]))
        for number, row in enumerate(drawn)
    )
    line = place(-margin) if margin is not None and math.isfinite(margin) else None
    ends = signed_points(-span), signed_points(span)
    return Chart(marks, len(drawn) * LINE + LINE, place(0.0), line, ends)


def _ends(row: Row) -> tuple[float, float]:
    low = row.difference if row.low is None else row.low
    return low, row.difference if row.high is None else row.high


def _values(row: Row) -> tuple[float, ...]:
    return (row.difference, *_ends(row))
