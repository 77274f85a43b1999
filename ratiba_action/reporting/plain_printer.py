"""Prints a report to a step's log with the standard library alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.ports import Progress
from ratiba_action.privacy.masking import Redactor

if TYPE_CHECKING:
    from ratiba_action.reporting.summary import ReportSummary


class RedactedProgress:
    """Implements ``Progress``: passes each result on, redacted as in the report.

    Error messages quote the system under test and are printed before the report exists.

    Args:
        progress: receives the redacted results.
    """

    def __init__(self, progress: Progress, redactor: Redactor) -> None:
        self._progress = progress
        self._redactor = redactor

    def started(self, total: int) -> None:
        """Hand it on."""
        self._progress.started(total)

    def advanced(self, result: ScenarioResult) -> None:
        """Pass on the redacted result."""
        self._progress.advanced(self._redactor.result(result))

    def finished(self) -> None:
        """Hand it on."""
        self._progress.finished()


class Printer(Protocol):
    """Prints a report for people."""

    def comment(self, body: str) -> None:
        """The comment that stands on the pull request."""
        ...

    def results(self, summary: "ReportSummary", *, in_workflow: bool) -> None:
        """How each scenario ended."""
        ...

    def end(self, summary: "ReportSummary", paths: Mapping[str, Path]) -> None:
        """Where the files of the report lie, and on a terminal the verdict."""
        ...


class PlainPrinter:
    """Prints the comment with its figures and notes, and the paths of the files.

    Args:
        stream: where to write; flushed after each part.
        environment: unused; all printers take the same arguments.
    """

    def __init__(self, stream: TextIO, environment: Mapping[str, str]) -> None:
        del environment
        self._stream = stream

    def comment(self, body: str) -> None:
        """The comment's text, as Markdown."""
        from ratiba_action.reporting.markdown import readable

        self._write(readable(body))

    def results(self, summary: "ReportSummary", *, in_workflow: bool) -> None:
        """Nothing: the comment names every scenario that did not pass."""

    def end(self, summary: "ReportSummary", paths: Mapping[str, Path]) -> None:
        """The paths of the report's files."""
        del summary
        self._write("\n".join(f"{name:<13} {path}" for name, path in paths.items()))

    def _write(self, text: str) -> None:
        if text:
            self._stream.write(f"{text}\n")
            self._stream.flush()
