"""A report in the log of a step, by the standard library alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.ports import Progress
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.markdown import visible
from ratiba_action.reporting.summary import ReportSummary


class RedactedProgress:
    """Implements ``Progress``: lets another one see each result as the report will show it.

    An error's message quotes the system under test, and is printed before there is a report.

    Args:
        progress: shows what it is given.
        redactor: the run's own.
    """

    def __init__(self, progress: Progress, redactor: Redactor) -> None:
        self._progress = progress
        self._redactor = redactor

    def started(self, total: int) -> None:
        """Hand it on."""
        self._progress.started(total)

    def advanced(self, result: ScenarioResult) -> None:
        """Hand on what may be shown."""
        self._progress.advanced(self._redactor.result(result))

    def finished(self) -> None:
        """Hand it on."""
        self._progress.finished()


class PlainPrinter:
    """Prints what a person reads first: the comment without its folded parts, and where the files lie.

    Args:
        stream: where to write; flushed after each part.
        environment: not looked at; printers are made alike.
    """

    def __init__(self, stream: TextIO, environment: Mapping[str, str]) -> None:
        del environment
        self._stream = stream

    def comment(self, body: str) -> None:
        """The comment's text, as Markdown."""
        self._write(visible(body))

    def results(self, summary: ReportSummary, *, in_workflow: bool) -> None:
        """Nothing: the comment names every conversation that did not pass."""

    def files(self, paths: Mapping[str, Path]) -> None:
        """Where the files of the report lie."""
        self._write("\n".join(f"{name:<13} {path}" for name, path in paths.items()))

    def _write(self, text: str) -> None:
        if text:
            self._stream.write(f"{text}\n")
            self._stream.flush()
