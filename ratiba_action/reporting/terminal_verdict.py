"""The short form of a report on a terminal: what failed, notes, and last the verdict with the command to go on."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.model.measurement import NotRun
from ratiba_action.model.verdict import Conclusion
from ratiba_action.reporting.markdown import clean, defuse_commands
from ratiba_action.reporting.summary import ReportSummary, ScenarioRow
from ratiba_action.reporting.wording import number
from ratiba_action.util.text import plural

if TYPE_CHECKING:
    from rich.console import Console

_MAX_ROWS = 10
"""Scenarios that are shown at most; of each, as many assertions."""
_MAX_NOTES = 5
_MARKS = {Conclusion.PASSED: ("✓", "green"), Conclusion.FAILED: ("✗", "red")}
_OTHER_MARK = ("!", "yellow")


def print_findings(summary: ReportSummary, console: "Console") -> None:
    """Print each scenario that did not pass with its assertions, which line did it, the variants and the notes."""
    rows = [row for row in summary.deciding if row.failing or row.deciding.ended != "passed"]
    for row in rows[:_MAX_ROWS]:
        _print(f"{row.label}: {_ended(row)}", console, "red" if row.failing else "yellow")
        for line in _reasons(row):
            _print(line, console, indent=2)
    if len(rows) > _MAX_ROWS:
        _print(f"{plural(len(rows) - _MAX_ROWS, 'more scenario')} in report.html", console)
    for variant in summary.variants:
        passed = f"{variant.passed} passed" if variant.passed else ""
        shown = (f"variant {variant.name}", variant.ended, passed, variant.why)
        _print(": ".join(filter(None, shown)), console)
    if summary.explanation is not None:
        _print("Which line did it: " + " ".join(cause.sentence for cause in summary.explanation.causes), console)
    _print_notes(summary, console)


def print_verdict(summary: ReportSummary, paths: Mapping[str, Path], console: "Console") -> None:
    """Print where the report lies, the verdict in its colour, its reason, and what to do."""
    report, verdict = summary.report, summary.report.verdict
    shown = paths.get("report.html") or next(iter(paths.values()), None)
    if shown is not None:
        console.out(f"Report: {shown}", highlight=False)
    first = f"{summary.numbers}{summary.caveat} · {report.name}" if summary.numbers else report.name + summary.caveat
    mark, colour = _OTHER_MARK if verdict.misconfigured else _MARKS.get(verdict.conclusion, _OTHER_MARK)
    _print(f"{mark} {summary.headline}: {first} · {summary.line}", console, f"bold {colour}")
    for text in (summary.replacement, verdict.reason, summary.leniency):
        if text:
            _print(text, console, indent=2)
    if action := summary.remedy.text():
        _print(f"What to do: {action}", console, indent=2)
    if report.shard is None and any(row.failing for row in summary.deciding):
        _print("To run what did not pass again, with the same options: ratiba gate --failed", console, indent=2)


def _print_notes(summary: ReportSummary, console: "Console") -> None:
    """Print the notes; of a suite that passed, only what qualifies the pass."""
    passed = summary.report.verdict.conclusion is Conclusion.PASSED
    notes = [*summary.report.verdict.warnings, *(summary.caveats if passed else summary.report.notes)]
    shown = notes[:_MAX_NOTES]
    for note in shown:
        _print(f"Note: {note}", console, "dim")
    if left_out := len(notes) - len(shown) + (len(summary.notes) if passed else 0):
        _print(f"{plural(left_out, 'more note' if shown else 'note')} in report.html", console, "dim")


def one_line(text: str) -> str:
    """The text on one line, harmless: a workflow's log executes commands, and a terminal control characters."""
    return defuse_commands(" ".join(clean(text).split()))


def _ended(row: ScenarioRow) -> str:
    path, result = row.scenario.path, row.deciding.result
    checks = () if isinstance(result, NotRun) else result.checks
    line = next((check.line for check in checks if not check.passed and check.line), row.scenario.line)
    place = f" ({path}:{line})" if path and line else ""
    return f"{row.ended}{' (critical)' if row.scenario.critical else ''}{place}"


def _reasons(row: ScenarioRow) -> Iterator[str]:
    """What failed in the deciding trial, or why it could not be measured."""
    result = row.deciding.result
    if not isinstance(result, NotRun):
        failed = [check for check in result.checks if not check.passed]
        for check in failed[:_MAX_ROWS]:
            turn = f"turn {check.turn}: " if check.turn else ""
            yield f"{turn}{check.what.removesuffix(' after the turn')}: expected {check.expected}, got {check.got}"
        for score in result.deciding_scores:
            if not score.passed:
                reason = f": {score.reason}" if score.reason else ""
                yield f"{score.metric}: at least {number(score.threshold)}, got {number(score.value)}{reason}"
    if row.deciding.gap:
        yield row.deciding.gap


def _print(text: str, console: "Console", style: str = "", indent: int = 0) -> None:
    shown = one_line(text)
    if not console.is_terminal:
        console.out(" " * indent + shown, highlight=False)
        return
    from rich.padding import Padding  # heavy, and needed on a terminal only
    from rich.text import Text

    console.print(Padding(Text(shown, style=style), (0, 0, 0, indent), expand=False))
