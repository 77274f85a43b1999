"""``report.html``: the whole report as one self-contained file."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING

from ratiba_action.model.comparison import OutcomeChange
from ratiba_action.model.measurement import Scored
from ratiba_action.reporting import wording
from ratiba_action.reporting.comment_failures import transcript_text
from ratiba_action.reporting.comparison_summary import Row, signed_points
from ratiba_action.reporting.markdown import clean
from ratiba_action.reporting.summary import VERDICT_IS_OF, ReportSummary, ScenarioRow
from ratiba_action.reporting.trends import describe_required, trend_chart

if TYPE_CHECKING:
    from jinja2 import Template

WIDTH = 640
LABELS = 250
"""Width of the column of names on the left, in units of the drawing."""

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
        zero: position of no difference.
        margin: position of the non-inferiority margin; None if unknown.
        ends: labels of the leftmost and rightmost difference.
    """

    marks: tuple[Mark, ...]
    height: int
    zero: float
    margin: float | None
    ends: tuple[str, str]


def chart_of(rows: Sequence[Row], margin: float | None) -> Chart | None:
    """The chart; None if there is no number to draw.

    Args:
        rows: of the comparison; those without a finite difference are left out.
        margin: non-inferiority margin, from 0 to 1.
    """
    drawn = [row for row in rows if all(math.isfinite(value) for value in _values(row))]
    if not drawn:
        return None
    values = [abs(value) for row in drawn for value in _values(row)]
    span = max(*values, margin if margin is not None and math.isfinite(margin) else 0.0, _LEAST_SPAN) * 1.1

    def place(value: float) -> float:
        width = WIDTH - LABELS - 2 * _PADDING
        return round(LABELS + _PADDING + (value + span) / (2 * span) * width, 1)

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


@cache
def report_template() -> "Template":
    """The template of the document, compiled when a process first asks for it."""
    # Imported here: a skipped run renders no report.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - heavy

    environment = Environment(
        loader=PackageLoader("ratiba_action.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    environment.filters.update(
        dollars=wording.dollars,
        number=wording.number,
        required=describe_required,
        plural=wording.plural,
        transcript=lambda result: transcript_text(result) if isinstance(result, Scored) else "",
        turns=_turns,
    )
    return environment.get_template("report.html.j2")


def render_html(summary: ReportSummary) -> str:
    """The document; every text is escaped by the template, and the file loads no script, font or image."""
    # Failures first; a stable sort keeps the rest in order.
    deciding = sorted(summary.deciding, key=lambda row: row.deciding.ended == "passed")
    compared = summary.comparison
    return report_template().render(
        summary=summary,
        report=summary.report,
        deciding=deciding,
        raised_before=_raised_before(deciding),
        compared=compared,
        chart=compared and chart_of(compared.rows, compared.found.margin),
        verdict_is_of=VERDICT_IS_OF,
        trends=[(trend, trend_chart(trend)) for trend in summary.report.trends if trend.points],
    )


def _turns(flip: OutcomeChange) -> list[tuple[str, str]]:
    """Both answers of each turn."""
    return list(zip_longest(flip.base_replies, flip.head_replies, fillvalue="(no answer)"))


def _raised_before(rows: Sequence[ScenarioRow]) -> dict[str, str]:
    """For each trial whose error an earlier trial already shows: that trial's name."""
    return {
        scenario: label
        for raised in wording.raised_errors(trial.result for row in rows for trial in row.trials)
        for label in raised.scenarios[:1]
        for scenario in raised.scenarios[1:]
    }
