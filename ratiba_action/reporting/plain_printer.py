"""A report in the log of a step, by the standard library alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from ratiba_action.model.verdict import Report
from ratiba_action.reporting.markdown import visible


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

    def results(self, report: Report, *, in_workflow: bool) -> None:
        """Nothing: the comment names every conversation that did not pass."""

    def files(self, paths: Mapping[str, Path]) -> None:
        """Where the files of the report lie."""
        self._write("\n".join(f"{name:<13} {path}" for name, path in paths.items()))

    def _write(self, text: str) -> None:
        if text:
            self._stream.write(f"{text}\n")
            self._stream.flush()
