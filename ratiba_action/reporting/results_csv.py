"""``results.csv``: one row for each assertion, score, threshold, comparison and variant, for spreadsheets."""

import csv
import io
import re
from collections.abc import Iterator

from ratiba_action.model.case_file import CaseThresholdStatus
from ratiba_action.model.comparison import Tier
from ratiba_action.model.measurement import NotRun, Scored
from ratiba_action.model.verdict import Conclusion
from ratiba_action.reporting.summary import ReportSummary, TrialRow

HEADER = (
    "scenario",
    "arm",
    "trial",
    "language",
    "critical",
    "result",
    "kind",
    "turn",
    "assertion",
    "expected",
    "got",
    "passed",
    "seconds",
    "cached",
    "votes",
    "scenario_result",
    "quarantined_until",
)

# A spreadsheet runs a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Where semicolons or tabs separate cells, as in most of Europe, quotation marks inside a line do not protect a cell.
_INNER_FORMULA = re.compile("([;,|\t\r\n])(?=[\\s\"']{0,20}[=+@\uff1d\uff0b\uff0d\uff20-])")


def render_csv(summary: ReportSummary) -> str:
    """The table as text with the line ends of RFC 4180."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(HEADER)
    for scenario in summary.scenarios:
        about = (scenario.ended, "" if scenario.quarantine is None else scenario.quarantine.until.isoformat())
        for trial in scenario.trials:
            writer.writerows([_cell(value) for value in (*row, *about)] for row in _rows(trial))
    others = (*_gate_rows(summary), *_comparison_rows(summary), *_variant_rows(summary))
    writer.writerows([_cell(value) for value in row] for row in others)
    return buffer.getvalue()


def _rows(row: TrialRow) -> Iterator[tuple[str, ...]]:
    result, trial = row.result, row.result.trial
    scenario = trial.scenario
    identity = (scenario.id, trial.arm.name, str(trial.number), scenario.language, _truth(scenario.critical))
    about = (*identity, row.ended)
    if not isinstance(result, Scored):
        yield (*about, "", "", "", "", row.why, _truth(value=False), "", "", "")
    if isinstance(result, NotRun):
        return
    seconds = f"{result.seconds:.3f}"
    for check in result.checks:
        turn = str(check.turn) if check.turn else ""
        passed = _truth(check.passed) if check.measured else ""
        yield (*about, check.kind, turn, check.what, check.expected, check.got, passed, seconds, "", "")
    for score in result.scores:
        kind = "judged score" if score.judged else "exact score"
        value, threshold = f"{score.value:.4f}", f"{score.threshold:.4f}"
        measured = (f"{score.metric}:{score.version}", threshold, value, _truth(score.passed), seconds)
        yield (*about, kind, "", *measured, _truth(score.cached), " ".join(f"{vote:.4f}" for vote in score.votes))
    if isinstance(result, Scored) and not result.checks and not result.scores:
        yield (*about, "", "", "", "", "nothing is asserted", _truth(value=False), seconds, "", "")


def _gate_rows(summary: ReportSummary) -> Iterator[tuple[str, ...]]:
    for scores, result in ((cases.scores, row.result) for cases in summary.cases for row in cases.gates):
        about = (scores.id, "", "", "", "", result.status.value, "gate", "", result.gate.metric)
        got = "" if result.value is None else f"{result.value:.4f}"
        passed = _truth(result.status is CaseThresholdStatus.PASSED)
        yield (*about, f"{result.gate.at_least:.4f}", got, passed, "", "", "", "", "")


def _comparison_rows(summary: ReportSummary) -> Iterator[tuple[str, ...]]:
    """The base's mean as expected, this run's as got."""
    if summary.comparison is None:
        return
    compared, tiers = summary.comparison.found, {row.name: row.tier for row in summary.comparison.rows}
    for scenario in compared.scenarios:
        about = (scenario.scenario_id, "head", "", "", _truth(scenario.critical), scenario.tier.value, "comparison", "")
        yield (*about, "composite", f"{scenario.base:.4f}", f"{scenario.head:.4f}", *_tier_cells(scenario.tier))
    for row in compared.metrics:
        about = ("", "head", "", "", "", tiers[row.metric].value, "comparison", "")
        yield (*about, row.metric, f"{row.base:.4f}", f"{row.head:.4f}", *_tier_cells(tiers[row.metric]))


def _variant_rows(summary: ReportSummary) -> Iterator[tuple[str, ...]]:
    """How many scenarios passed, or why it was not run, and the mean of each metric."""
    for row in summary.variants:
        about, figures = ("", row.name, "", "", "", row.ended, "variant", ""), row.figures
        passed = _truth(figures.conclusion == Conclusion.PASSED.value)
        counts = ("", row.why) if figures.problem else (str(row.total), str(figures.passed))
        yield (*about, "scenarios", *counts, passed, "", "", "", "", "")
        for metric, mean in sorted(figures.means.items()):
            yield (*about, metric, "", f"{mean:.4f}", "", "", "", "", "", "")


def _tier_cells(tier: Tier) -> tuple[str, ...]:
    return (_truth(tier is not Tier.REGRESSION), "", "", "", "", "")


def _truth(value: bool) -> str:  # noqa: FBT001 - the value itself, not a switch
    return "true" if value else "false"


def _cell(text: str) -> str:
    text = _INNER_FORMULA.sub(r"\1'", text.replace("\x00", ""))
    return f"'{text}" if text.lstrip(" \"'").startswith(_FORMULA) else text
