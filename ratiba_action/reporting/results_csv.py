"""``results.csv``: one row for each assertion, score, conversation, threshold, comparison and variant."""

import csv
import io
import re
from collections.abc import Iterator, Sequence

from ratiba_action.model.case_file import CaseThresholdStatus
from ratiba_action.model.comparison import Tier
from ratiba_action.model.measurement import NotRun, Score, Scored
from ratiba_action.model.scenario import Scenario, Turn
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
    "request",
    "reply",
    "title",
)
"""Columns of every file; one column for each metric follows."""

_LONGEST_CELL = 32_000
"""Characters; a spreadsheet cuts a cell at 32,767."""

# A spreadsheet runs a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Where semicolons or tabs separate cells, as in most of Europe, quotation marks inside a line do not protect a cell.
_INNER_FORMULA = re.compile("([;,|\t\r\n])(?=[\\s\"']{0,20}[=+@\uff1d\uff0b\uff0d\uff20-])")


def render_csv(summary: ReportSummary) -> str:
    """The table as text with the line ends of RFC 4180."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    metrics = sorted({score.metric for row in summary.scenarios for trial in row.trials for score in _scores(trial)})
    writer.writerow([*HEADER, *map(_cell, metrics)])
    for scenario in summary.scenarios:
        about = (scenario.ended, "" if scenario.quarantine is None else scenario.quarantine.until.isoformat())
        for trial in scenario.trials:
            title = scenario.scenario.title
            whole = (*_conversation_row(trial), *about, *_texts(trial), title, *_columns(trial, metrics))
            empty = ["", "", title, *[""] * len(metrics)]
            writer.writerows([_cell(value) for value in (*row, *about, *empty)] for row in _rows(trial))
            writer.writerow([_cell(value) for value in whole])
    others = (*_gate_rows(summary), *_comparison_rows(summary), *_variant_rows(summary))
    writer.writerows(
        [_cell(value) for value in (*row, "", "", summary.titles.get(row[0], ""), *[""] * len(metrics))]
        for row in others
    )
    return buffer.getvalue()


def _scores(row: TrialRow) -> tuple[Score, ...]:
    return () if isinstance(row.result, NotRun) else row.result.scores


def _conversation_row(row: TrialRow) -> tuple[str, ...]:
    """One trial as a whole, as far as the columns before its result's."""
    result, trial = row.result, row.result.trial
    scenario = trial.scenario
    identity = (scenario.id, trial.arm.name, str(trial.number), scenario.language, _truth(scenario.critical))
    seconds = "" if isinstance(result, NotRun) else f"{result.seconds:.3f}"
    passed = _truth(isinstance(result, Scored) and result.passed)
    return (*identity, row.ended, "conversation", "", "", _expected(scenario), row.why, passed, seconds, "", "")


def _expected(scenario: Scenario) -> str:
    """What the replies are compared with, a line for each turn."""
    lines = scenario.replies or scenario.captured or tuple(map(_reference, scenario.turns))
    return "\n".join(lines)[:_LONGEST_CELL] if any(lines) else ""


def _reference(turn: Turn) -> str:
    """The output that the scenario compares a turn's with: its answer, label, labels or documents."""
    expect = turn.expect
    if expect.answer is not None or expect.label is not None:
        return expect.answer or expect.label or ""
    return " ".join(expect.labels if expect.labels is not None else expect.documents or ())


def _texts(row: TrialRow) -> tuple[str, str]:
    """What the customer said in the conversation and what the system replied, a line for each turn."""
    transcript = None if isinstance(row.result, NotRun) else row.result.transcript
    exchanges = () if transcript is None else transcript.exchanges
    asked = "\n".join(_asked(exchange.turn) for exchange in exchanges)
    replied = "\n".join(exchange.reply.text for exchange in exchanges)
    return asked[:_LONGEST_CELL], replied[:_LONGEST_CELL]


def _asked(turn: Turn) -> str:
    if turn.user is not None:
        return turn.user
    return f"(event {(turn.event or {}).get('type', '')})"


def _columns(row: TrialRow, metrics: Sequence[str]) -> Iterator[str]:
    """The score of each metric; of several scores of one metric the last."""
    values = {score.metric: f"{score.value:.4f}" for score in _scores(row)}
    return (values.get(metric, "") for metric in metrics)


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
    if not text or text.isalnum():
        return text  # as most cells: names, numbers and nothing
    text = _INNER_FORMULA.sub(r"\1'", text.replace("\x00", ""))
    return f"'{text}" if text.lstrip(" \"'").startswith(_FORMULA) else text
