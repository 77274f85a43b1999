"""The runner's workflow commands, written so that no text can become one."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from ratiba_action.settings.step_output import StepOutput
from ratiba_action.util.text import cut, printable_lines

_MESSAGE_LIMIT = 4_096
_ERRORS_SHOWN = 10


def random_token() -> str:
    """A word that no text can hold by design or by chance."""
    return os.urandom(16).hex()


@dataclass(frozen=True, slots=True)
class Annotation:
    """A message at a place in the repository.

    Args:
        path: relative to the repository's root; empty for a message without a place.
        line: from 1; 0 for the whole file.
        level: ``error``, ``warning`` or ``notice``.
    """

    title: str
    message: str
    path: str = ""
    line: int = 0
    level: str = "error"


class WorkflowLog:
    """The log of a workflow's step.

    Args:
        stream: the step's standard output; every line is flushed, since commands act in their order.
        new_token: makes the word that ends a stretch of plain text.
    """

    def __init__(self, stream: TextIO, new_token: Callable[[], str] = random_token) -> None:
        self._stream = stream
        self._new_token = new_token

    def annotate(self, annotations: Sequence[Annotation]) -> None:
        """Write at most ten errors, as many as the runner shows for a step; the last one counts the rest."""
        omitted = len(annotations) - _ERRORS_SHOWN
        for annotation in annotations if omitted <= 0 else annotations[: _ERRORS_SHOWN - 1]:
            self._write(_command(annotation))
        if omitted > 0:
            message = f"{omitted + 1} more failures are in the step summary and the report."
            self._write(_command(Annotation("More failures", message, level=annotations[0].level)))

    def warning(self, message: str) -> None:
        """Write a warning without a place."""
        self._write(_command(Annotation("Ratiba Eval Gate", message, level="warning")))

    def mask(self, secret: str) -> None:
        """Have the runner replace a secret, line by line, in everything that follows."""
        for line in secret.splitlines():
            if line.strip():
                self._write(f"::add-mask::{_one_line(line)}")  # exactly, or it would hide another text

    @contextmanager
    def plain(self) -> Iterator[None]:
        """What is printed within is never read as a command; the older ``##[`` form must be broken by the printer.

        A stream that passes the filter needs no more, and what stands in one stream would not hold for the other.
        """
        if isinstance(self._stream, StepOutput):
            yield
            return
        token = self._new_token()
        self._write(f"::stop-commands::{token}")
        try:
            yield
        finally:
            self._write(f"::{token}::")

    @contextmanager
    def group(self, title: str) -> Iterator[None]:
        """What is printed within is folded under a title."""
        self._write(f"::group::{escape_data(title)}")
        try:
            yield
        finally:
            self._write("::endgroup::")

    def _write(self, line: str) -> None:
        if isinstance(self._stream, StepOutput):
            self._stream.command(line)
            return
        self._stream.write(f"{line}\n")
        self._stream.flush()


def escape_data(text: str) -> str:
    """Untrusted text as a command's message on one line; the runner's older syntax, which it reads anywhere, is broken.

    What cannot be seen is spelled out, so that a log shows what a terminal would obey.
    """
    return _one_line(printable_lines(text))


def _one_line(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """A command's property, which also ends at a colon or a comma."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _command(annotation: Annotation) -> str:
    place: Mapping[str, str] = {
        "file": annotation.path,
        "line": str(annotation.line) if annotation.path and annotation.line else "",
        "title": annotation.title[:200],
    }
    properties = ",".join(f"{name}={escape_property(value)}" for name, value in place.items() if value)
    return f"::{annotation.level} {properties}::{escape_data(cut(annotation.message, _MESSAGE_LIMIT))}"
