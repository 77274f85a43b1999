"""``report.html``: the whole report as one file that needs nothing from outside."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from ratiba_action.model.comparison import Flip
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.verdict import Report
from ratiba_action.reporting import comparison_words, data_set_words, variant_words, wording
from ratiba_action.reporting.comment_sections import transcript_text
from ratiba_action.reporting.comment_traces import run_link, trace_ended, trace_links
from ratiba_action.reporting.comparison_words import Row, signed_points
from ratiba_action.reporting.judge_facts import judge_facts
from ratiba_action.reporting.markdown import clean
from ratiba_action.reporting.money_facts import Part, money_facts, month_note, parts
from ratiba_action.reporting.trend_words import required_told, trend_chart
from ratiba_action.verdict.tally import (
    deciding_outcomes,
    deciding_results,
    expired_outcomes,
    quarantined_outcomes,
    summarise_metrics,
    tally,
)
from ratiba_action.verdict.trials import ScenarioOutcome
from ratiba_action.verdict.weighing import sensitivity

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


def render_html(report: Report) -> str:
    """The document; every text is escaped by the template, and the file loads no script, font or image."""
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
        required=required_told,
        label=wording.label,
        outcome=wording.outcome,
        scenario_label=wording.scenario_label,
        trials_told=wording.trials_told,
        trace_ended=trace_ended,
        explanation=wording.explanation,
        frames=wording.frames,
        raised_before=_raised_before(report),
        plural=wording.plural,
        transcript=lambda result: transcript_text(result) if isinstance(result, Scored) else "",
    )
    return environment.get_template("report.html.j2").render(
        report=report,
        # What needs a reader stands first; a stable sort keeps the rest in order.
        outcomes=_sorted(report),
        quarantined=quarantined_outcomes(report),
        expired=expired_outcomes(report),
        counts=tally(report),
        metrics=[
            (one, data_set_words.passing_told(one), data_set_words.threshold_told(one, report.data_sets))
            for one in summarise_metrics(deciding_results(report))
        ],
        headline=wording.headline(report),
        caveat=wording.caveat(report),
        replacement=wording.replacement(report),
        leniency=wording.leniency(report),
        summary=wording.summary_line(report),
        judges=judge_facts(report),
        money=money_facts(report),
        compared=_compared(report),
        month=month_note(report),
        run_link=run_link(report),
        trace_links=trace_links(report),
        paid=_paid(report),
        variants=_variants(report),
        variant_metrics=variant_words.metrics_of(report.variants),
        verdict_is_of=variant_words.VERDICT_IS_OF,
        trends=[(one, trend_chart(one)) for one in report.trends if one.points],
        data_sets=_data_sets(report),
    )


def _variants(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "figures": one,
            "name": variant_words.name_of(one),
            "differences": variant_words.differences_of(one),
            "ended": variant_words.ended(one),
            "why": variant_words.why(one) if one.name else "",
            "passed": variant_words.passed_of(one),
        }
        for one in report.variants
    ]


def _data_sets(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "scores": one,
            "about": data_set_words.about(one),
            "gates": [(gate, data_set_words.value(gate), data_set_words.status(one, gate)) for gate in one.gates],
            "low": data_set_words.low_cases(one, report.results),
            "classes": sorted(one.classes, key=lambda found: (found.f1, found.label)),
        }
        for one in report.data_sets
    ]


def _compared(report: Report) -> dict[str, Any] | None:
    """What is told of the comparison with the base; None without one."""
    found = report.verdict.comparison
    if found is None:
        return None
    rows = comparison_words.metric_rows(found, comparison_words.thresholds_of(report))
    return {
        "heading": comparison_words.heading(found, report.verdict.conclusion),
        "found": found,
        "baseline": comparison_words.baseline_told(report.baseline, report.started_at),
        "seen": sensitivity(found),
        "intervals": any(row.low is not None for row in rows),
        "interval_is_of": comparison_words.interval_told(found),
        "rows": rows,
        "chart": chart_of(rows, found.margin),
        "scenarios": [
            (
                one,
                comparison_words.signed_points(one.head - one.base),
                comparison_words.scenario_status(one, found),
            )
            for one in comparison_words.by_change(found)
        ],
        "flips": [(one, comparison_words.flip_told(one), _turns(one)) for one in found.flips],
        "not_comparable": comparison_words.not_comparable_told(found),
        "obstacles": comparison_words.obstacles(found),
    }


def _turns(flip: Flip) -> list[tuple[str, str]]:
    """Both answers of each turn."""
    return list(zip_longest(flip.base_replies, flip.head_replies, fillvalue="(no answer)"))


def _sorted(report: Report) -> list[ScenarioOutcome]:
    return sorted(deciding_outcomes(report), key=lambda one: wording.outcome(one.deciding) == "passed")


def _raised_before(report: Report) -> Callable[[ScenarioResult], str]:
    """For a trial whose error an earlier one shows: that one's label; else empty."""
    shown = {
        scenario: label
        for raised in wording.raised_errors(trial for one in _sorted(report) for trial in one.trials)
        for label in raised.scenarios[:1]
        for scenario in raised.scenarios[1:]
    }
    return lambda result: shown.get(wording.label(result), "")


def _paid(report: Report) -> list[tuple[str, tuple[Part, ...]]]:
    """Headings and parts of what was spent, where something was."""
    spent = (("by party", parts(report.spending.by_party)), ("by model", parts(report.spending.by_model)))
    return [(what, paid) for what, paid in spent if paid]
