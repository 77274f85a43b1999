"""Output on a terminal: progress, the table of scenarios, and the comment's text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ratiba_action.model.measurement import Errored, Phase, ScenarioResult
from ratiba_action.ports import Progress
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.plain_printer import RedactedProgress
from ratiba_action.reporting.wording import explanation, frames, label, outcome, raised_errors
from ratiba_action.settings.step_output import StepOutput
from ratiba_action.util.text import clip, plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from ratiba_action.reporting.summary import ReportSummary, ScenarioRow, TrialRow

_CELL = 60
"""Most characters of an error in the table; the report has all of it."""

_TRACEBACKS = 3
_MAX_ROWS = 200
"""Scenarios that are listed at most; of more, only those that did not pass."""
_FRAME_LINES = 30
_COLOURS = {"passed": "green", "failed": "red", "not run": "yellow"}


def make_console(stream: TextIO, environment: Mapping[str, str]) -> "Console":
    """A console for the stream; colours only on a terminal and never when ``NO_COLOR`` is set."""
    from rich.console import Console  # heavy, and a skipped run prints two lines

    terminal = stream.isatty() and environment.get("TERM") != "dumb" and not in_ci(environment)
    return Console(
        file=stream,
        force_terminal=terminal,
        no_color=bool(environment.get("NO_COLOR")),
        width=None if terminal else 160,
        highlight=False,
        emoji=False,
        markup=False,
        _environ=dict(environment),
    )


def in_ci(environment: Mapping[str, str]) -> bool:
    """Whether lines are read in a log rather than on a terminal."""
    return environment.get("CI", "").lower() not in ("", "false", "0")


def make_progress(stream: TextIO, environment: Mapping[str, str], redactor: Redactor) -> Progress:
    """A bar on a terminal, one line per trial elsewhere; both show redacted text."""
    console = make_console(stream, environment)
    return RedactedProgress(BarProgress(console) if console.is_terminal else LineProgress(stream), redactor)


class RichPrinter:
    """Prints a report: on a terminal in short, with colours and the verdict last, elsewhere the comment and a table.

    Args:
        verbosity: 1 for the comment and the table on a terminal too, -1 for the verdict alone.
    """

    def __init__(self, stream: TextIO, environment: Mapping[str, str], verbosity: int = 0) -> None:
        self._console = make_console(stream, environment)
        self._in_log = in_ci(environment) or environment.get("GITHUB_ACTIONS") == "true"
        self._verbosity = verbosity
        self._terminal = stream.isatty() and not self._in_log
        self._short = self._terminal and not verbosity

    def comment(self, body: str) -> None:
        """The comment without its folded parts; outside logs also without zero-width spaces, so paths can be copied."""
        from ratiba_action.reporting.markdown import ZERO_WIDTH_SPACE

        if self._verbosity >= 0 and not self._short:
            print_comment(body if self._in_log else body.replace(ZERO_WIDTH_SPACE, ""), self._console)

    def results(self, summary: "ReportSummary", *, in_workflow: bool) -> None:
        """How each scenario ended."""
        from ratiba_action.reporting.terminal_verdict import print_findings

        if self._short:
            print_findings(summary, self._console)
            _print_frames(summary, self._console)
        elif self._verbosity >= 0:
            print_results(summary, self._console, in_workflow=in_workflow)

    def end(self, summary: "ReportSummary", paths: Mapping[str, Path]) -> None:
        """The paths of the report's files; on a terminal the verdict."""
        from ratiba_action.reporting.terminal_verdict import print_verdict

        if self._terminal or self._verbosity < 0:
            print_verdict(summary, {} if self._verbosity < 0 else paths, self._console)
        else:
            print_files(paths, self._console)


class LineProgress:
    """One plain line for each trial.

    Args:
        stream: where to write; flushed after each line.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._total = 0
        self._done = 0

    def started(self, total: int) -> None:
        """Remember the number of trials."""
        self._total, self._done = total, 0
        self._write(f"0/{plural(total, 'scenario')}")

    def advanced(self, result: ScenarioResult) -> None:
        """Print one line."""
        self._done += 1
        self._write(f"{self._done}/{self._total} {_line(result)}")

    def finished(self) -> None:
        """Nothing is left to do."""

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


class BarProgress:
    """A bar with the last trial's name, gone when the run ends."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def started(self, total: int) -> None:
        """Show the empty bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        self._bar = Progress(*columns, console=self._console, transient=True)
        self._task = self._bar.add_task("", total=total)
        self._bar.start()

    def advanced(self, result: ScenarioResult) -> None:
        """Move the bar, and leave a line for what did not pass."""
        if self._bar is None or self._task is None:
            return
        self._bar.update(self._task, advance=1, description=_line(result))
        if outcome(result) != "passed":
            self._bar.console.print(_line(result))

    def finished(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def print_results(summary: "ReportSummary", console: "Console", *, in_workflow: bool = False) -> None:
    """The table of scenarios, or the same as lines folded in the log of a workflow."""
    rows = _first_rows(summary.scenarios)
    if in_workflow:
        _command("::group::Scenarios", console)
        for row in rows:
            console.out(_joined(row.name, _ended(row), row.deciding.gap), highlight=False)
    elif rows:
        console.print(_table(rows))
    if len(rows) < len(summary.scenarios):
        left_out = plural(len(summary.scenarios) - len(rows), "more scenario")
        what = "passed; report.html lists them" if len(rows) < _MAX_ROWS else "in report.html"
        console.out(f"{left_out} {what}", highlight=False)
    _print_frames(summary, console)
    if in_workflow:
        _command("::endgroup::", console)


def _command(line: str, console: "Console") -> None:
    if isinstance(console.file, StepOutput):
        console.file.command(line)
    else:
        console.out(line, highlight=False)


def _print_frames(summary: "ReportSummary", console: "Console") -> None:
    """The system's errors, each once with the scenarios in which it was raised."""
    from ratiba_action.reporting.markdown import clean, defuse_commands
    from ratiba_action.reporting.terminal_verdict import one_line

    raised = raised_errors(row.deciding.result for row in summary.scenarios)
    for error in raised[:_TRACEBACKS]:
        console.out(f"{one_line(label(error.first))}: {one_line(explanation(error.first))}", highlight=False)
        if error.others:
            console.out(f"  the same in {one_line(error.others)}", highlight=False)
        for line in frames(error.first).splitlines()[-_FRAME_LINES:]:
            console.out(f"  {defuse_commands(clean(line))}", highlight=False)
    if len(raised) > _TRACEBACKS:
        console.out(f"{plural(len(raised) - _TRACEBACKS, 'more traceback')} in report.html", highlight=False)


def print_comment(body: str, console: "Console") -> None:
    """The comment: rendered on a terminal without its folded parts, elsewhere as Markdown with its figures and notes.

    The text quotes replies of the system: in a workflow the caller stops the runner from reading commands in it.
    """
    from ratiba_action.reporting.markdown import readable, visible

    if not console.is_terminal:
        console.out(readable(body), highlight=False)
        return
    from rich.markdown import Markdown  # heavy, and needed on a terminal only

    shown = visible(body)
    mark, _, rest = shown.partition("\n")
    console.print(Markdown(rest if mark.startswith("> [!") else shown, hyperlinks=False))


def print_files(paths: Mapping[str, Path], console: "Console") -> None:
    """The paths of the report's files."""
    for name, path in paths.items():
        console.out(f"{name:<13} {path}", highlight=False)


def _first_rows(rows: "Sequence[ScenarioRow]") -> "Sequence[ScenarioRow]":
    """All of a few; of many the first that did not pass, since nobody reads a thousand lines."""
    return rows if len(rows) <= _MAX_ROWS else [row for row in rows if row.deciding.ended != "passed"][:_MAX_ROWS]


def _table(rows: "Sequence[ScenarioRow]") -> object:
    from rich.table import Table  # heavy, and needed on a terminal only
    from rich.text import Text

    from ratiba_action.reporting.terminal_verdict import one_line

    table = Table(box=None, pad_edge=False)
    for heading in ("scenario", "result", "language", "checks", "scores", "seconds"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left", overflow="fold")
    for row in rows:
        cells = [row.label, _ended(row), row.scenario.language, *_measurements(row.deciding)]
        styles = ["", _colour(row), "", "", "", ""]
        table.add_row(*(Text(one_line(cell), style=style) for cell, style in zip(cells, styles, strict=True)))
    return table


def _measurements(row: "TrialRow") -> tuple[str, str, str]:
    scores = [f"{score.metric} {score.value:.2f}" for score in row.scores]
    scores_cell = ", ".join([*scores, *([clip(row.gap, _CELL)] if row.gap else [])])
    if row.checks is None:
        return "", scores_cell, ""
    return "{}/{}".format(*row.checks), scores_cell, f"{row.seconds:.1f}"


def _ended(row: "ScenarioRow") -> str:
    return row.ended + ("" if row.quarantine is None else f", quarantined until {row.quarantine.until}")


def _colour(row: "ScenarioRow") -> str:
    return "yellow" if row.quarantine else _COLOURS.get(row.deciding.ended, "yellow")


def _line(result: ScenarioResult) -> str:
    from ratiba_action.reporting.summary import trial_row
    from ratiba_action.reporting.wording import listed

    row = trial_row(result)
    # What failed would be hidden behind an answer that is missing besides.
    checks = result.checks if isinstance(result, Errored) and result.phase is Phase.RECORDING else ()
    failed = [check.what for check in checks if not check.passed]
    return _joined(row.name, row.ended, listed(list(dict.fromkeys(failed))), row.gap)


def _joined(*parts: str) -> str:
    from ratiba_action.reporting.terminal_verdict import one_line

    return one_line(": ".join(part for part in parts if part))
