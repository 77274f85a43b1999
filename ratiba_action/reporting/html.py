"""``report.html``: the whole report as one self-contained file."""

import math
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING

from ratiba_action.model.comparison import Tier
from ratiba_action.model.measurement import CriterionThreshold, JudgeThresholds, Scored
from ratiba_action.model.verdict import Report
from ratiba_action.reporting import wording
from ratiba_action.reporting.comment_failures import transcript_text
from ratiba_action.reporting.comparison_summary import ComparisonRow, signed_points
from ratiba_action.reporting.markdown import clean
from ratiba_action.reporting.summary import VERDICT_IS_OF, ReportSummary, ScenarioRow
from ratiba_action.reporting.trends import describe_required, describe_windows, trend_chart
from ratiba_action.util.text import plural

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True, slots=True)
class ChartSize:
    """Sizes in units of the drawing.

    Args:
        labels: width of the column of names on the left; 0 where each name stands above its mark.
    """

    width: int
    labels: int
    line: int


WIDE, NARROW = ChartSize(640, 250, 26), ChartSize(340, 0, 42)
"""For a window and for a phone, where the names of the wide one would be too small to read."""
_PADDING = 20
_MIN_SPAN = 0.02


@dataclass(frozen=True, slots=True)
class ChartMark:
    """One line of the chart; positions are units of the drawing."""

    row: ComparisonRow
    y: int
    label: int
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

    marks: tuple[ChartMark, ...]
    height: int
    zero: float
    margin: float | None
    ends: tuple[str, str]
    width: int
    left: int


def chart_of(rows: Sequence[ComparisonRow], margin: float | None, size: ChartSize = WIDE) -> Chart | None:
    """The chart; None if there is no number to draw.

    Args:
        rows: of the comparison; those without a finite difference are left out.
        margin: non-inferiority margin, from 0 to 1.
    """
    drawn = [row for row in rows if all(math.isfinite(value) for value in _values(row))]
    if not drawn:
        return None
    values = [abs(value) for row in drawn for value in _values(row)]
    span = max(*values, margin if margin is not None and math.isfinite(margin) else 0.0, _MIN_SPAN) * 1.1

    def place(value: float) -> float:
        width = size.width - size.labels - 2 * _PADDING
        return round(size.labels + _PADDING + (value + span) / (2 * span) * width, 1)

    def mark(number: int, row: ComparisonRow) -> ChartMark:
        top, (low, high) = number * size.line, _ends(row)
        y, label = (top + size.line // 2, top + size.line // 2 + 4) if size.labels else (top + 28, top + 14)
        return ChartMark(row, y, label, place(row.difference), place(low), place(high))

    marks = tuple(mark(number, row) for number, row in enumerate(drawn))
    line = place(-margin) if margin is not None and math.isfinite(margin) else None
    ends = signed_points(-span), signed_points(span)
    height = len(drawn) * size.line + WIDE.line
    return Chart(marks, height, place(0.0), line, ends, size.width, size.labels + _PADDING)


def _ends(row: ComparisonRow) -> tuple[float, float]:
    low = row.difference if row.low is None else row.low
    return low, row.difference if row.high is None else row.high


def _values(row: ComparisonRow) -> tuple[float, ...]:
    return (row.difference, *_ends(row))


@dataclass(frozen=True, slots=True)
class ThresholdChart:
    """A drawing of what thresholds from 0 to 1 do; positions are units of the drawing.

    Args:
        lines: CSS class and SVG points of each unbroken part of precision, recall and false failures.
        suggested: position of the suggested threshold; None without one.
        box: positions of minimum, quartiles and maximum on the golden set; empty where it is not measured there.
    """

    lines: tuple[tuple[str, str], ...]
    suggested: float | None
    box: tuple[float, ...]
    golden: str
    summary: str


CURVES = ("precision", "recall", "false_failures")
_LEFT, _ACROSS, _TOP, _DOWN = 40, 285, 12, 150


def threshold_chart(found: JudgeThresholds) -> ThresholdChart:
    """The chart of one judge and criterion, or of a metric that has scores on the golden set only."""
    lines: list[tuple[str, str]] = []
    for name in CURVES:
        values = [(row.threshold, getattr(row, name)) for row in found.rows]
        for known, part in groupby(values, key=lambda at: at[1] is not None):
            places = [f"{_across(x)},{round(_TOP + (1 - y) * _DOWN, 1)}" for x, y in part] if known else []
            lines += [(name, " ".join(places if len(places) > 1 else places * 2))] if places else []
    parts = [f"{name.replace('_', ' ')} {_percentage(found.at_suggested, name)}" for name in CURVES]
    parts = [f"at the suggested threshold {found.suggested:.2f}: {', '.join(parts)}"] if found.suggested else []
    golden = _golden(found.golden)
    parts += [f"on the golden set: {golden}"] if golden else []
    return ThresholdChart(
        tuple(lines),
        None if found.suggested is None else _across(found.suggested),
        tuple(map(_across, found.golden)),
        golden,
        "; ".join(parts) or "no threshold is suggested",
    )


def _across(value: float) -> float:
    return round(_LEFT + value * _ACROSS, 1)


def _percentage(row: CriterionThreshold | None, name: str) -> str:
    value = getattr(row, name, None)
    return "none" if value is None else f"{value:.0%}"


def _golden(numbers: Sequence[float]) -> str:
    if not numbers:
        return ""
    low, *quartiles, high = (f"{number:.2f}" for number in numbers)
    return f"minimum {low}, quartiles {', '.join(quartiles)}, maximum {high}"


def report_template() -> "Template":
    """The template of the report."""
    return page_template("report.html.j2")


@cache
def page_template(name: str, package: str = "ratiba_action.reporting") -> "Template":
    """A template of a document, compiled when a process first asks for it.

    Args:
        package: that has it in its folder ``templates``.
    """
    # Imported here: a skipped run renders no report.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    environment.filters.update(
        dollars=wording.dollars,
        scenario_dollars=wording.scenario_dollars,
        number=wording.number,
        required=describe_required,
        windows=describe_windows,
        plural=plural,
        transcript=lambda result: transcript_text(result) if isinstance(result, Scored) else "",
        share=lambda value: "none" if value is None else f"{value:.0%}",
    )
    return environment.get_template(name)


def render_html(summary: ReportSummary, thresholds: Sequence[JudgeThresholds] = ()) -> str:
    """The document: every text is escaped by the template, and the file loads nothing.

    Its content security policy names the digest of its one script, which filters scenarios; no other one can run.

    Args:
        summary: with its secrets and identifiers masked already.
        thresholds: of the judges against people's labels, masked as well; empty for a report without them.
    """
    from markupsafe import Markup  # a skipped run renders no report

    # Failures first, critical ones before others; a stable sort keeps the rest in order.
    deciding = sorted(summary.deciding, key=lambda row: (_ORDER.get(row.deciding.ended, 1), not row.scenario.critical))
    compared = summary.comparison
    sizes = ((WIDE, "wide"), (NARROW, "narrow"))
    charts = [(chart_of(compared.rows, compared.found.margin, size), kind) for size, kind in sizes] if compared else []
    failing = any(row.deciding.ended != "passed" for row in deciding)
    script = _script()
    return report_template().render(
        summary=summary,
        report=summary.report,
        deciding=deciding,
        raised_before=_raised_before(deciding),
        compared=compared,
        comparison_first=compared is not None and (not failing or compared.found.tier is Tier.REGRESSION),
        charts=[(chart, kind) for chart, kind in charts if chart is not None],
        links=_links(summary.report),
        contents=[],
        script=Markup(script),  # noqa: S704 - a constant of this package
        script_digest=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        verdict_is_of=VERDICT_IS_OF,
        self_reported_text=wording.SELF_REPORTED,
        thresholds=[(found, threshold_chart(found)) for found in thresholds],
        trends=[(trend, trend_chart(trend)) for trend in summary.report.trends if trend.points],
    )


_ORDER = {"failed": 0, "passed": 2}
_RUN_URL = re.compile(r"(https?://[A-Za-z0-9._:-]+/[A-Za-z0-9._/-]*)/actions/runs/[0-9]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.ASCII)


@cache
def _script() -> str:
    return files("ratiba_action.reporting").joinpath("templates", "report.js").read_text(encoding="utf-8")


def _links(report: Report) -> list[tuple[str, str, str]]:
    """What was evaluated: its kind, its name, and its address on GitHub; empty where that is not known."""
    subject = report.subject
    found = _RUN_URL.fullmatch(subject.run_url)
    server = found[1] if found else ""
    commit = subject.head if _COMMIT.fullmatch(subject.head) else ""
    links = [("commit", subject.head[:12], f"{server}/commit/{commit}" if server and commit else "")]
    if subject.pull_request:
        url = f"{server}/pull/{subject.pull_request}" if server else ""
        links.append(("pull request", f"#{subject.pull_request}", url))
    if subject.run_id:
        links.append(("workflow run", str(subject.run_id), subject.run_url if found else ""))
    return [link for link in links if link[1]]


def _raised_before(rows: Sequence[ScenarioRow]) -> dict[str, str]:
    """For each trial whose error an earlier trial already shows: that trial's name."""
    return {
        scenario: label
        for raised in wording.raised_errors(trial.result for row in rows for trial in row.trials)
        for label in raised.scenarios[:1]
        for scenario in raised.scenarios[1:]
    }
