"""A system that is a program in any language: one process a conversation, one line of JSON in, one out."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import threading
from collections import deque
from typing import Any

from .strict_json import DuplicateKeyError, read_json

MAX_BYTES = 1024 * 1024
_SHOWN = 300
_LINES = 20
_LINE = 400
_PATIENCE = 2.0
_PIECE = 65_536


class CommandError(Exception):
    """The command ended, or answered outside the protocol."""


class Adapter:
    """Starts the program.

    Args:
        options: ``argv``.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._argv = options["argv"]

    def migrate(self, database_url: str) -> None:
        """Have the program create its tables, in a process for that alone."""
        program = _Program(self._argv)
        program.ask({"migrate": {"database_url": database_url}})
        program.end()

    def open(self, context: Any) -> ProgramConversation:
        """Start a process."""
        return ProgramConversation(_Program(self._argv), {**vars(context), "now": context.now.isoformat()})


class ProgramConversation:
    """One conversation; each line says what it is about, so that a program may forget."""

    def __init__(self, program: _Program, context: dict[str, Any]) -> None:
        self._program = program
        self._context = context

    def send(self, message: str) -> Any:
        """The reply to what the customer says."""
        return self._ask({"message": message})

    def deliver(self, event: dict[str, Any]) -> Any:
        """The reply to something else that happened."""
        return self._ask({"event": event})

    def _ask(self, request: dict[str, Any]) -> Any:
        answer = self._program.ask({**request, "context": self._context})
        return {"text": answer} if isinstance(answer, str) else answer

    def close(self) -> None:
        """Let the program come to its end."""
        self._program.end()


class _Program:
    """A running program."""

    def __init__(self, argv: list[str]) -> None:
        self._argv = argv
        try:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except (OSError, ValueError) as problem:
            raise CommandError(f"the command {argv!r} cannot be started: {problem}") from None
        self._unread = b""
        self._last_lines: deque[bytes] = deque(maxlen=_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        """Read what it complains of, so that it never waits for a reader."""
        assert self._process.stderr is not None  # noqa: S101 - a pipe was asked for
        while line := self._process.stderr.readline(_LINE):
            self._last_lines.append(line)

    def ask(self, request: dict[str, Any]) -> Any:
        """Write one line and read one: with more, nobody could tell which line answers which request."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        self._refuse_more("before the request", self._waiting())
        line = b""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
            self._process.stdin.flush()
            line = self._line()
        if len(line) > MAX_BYTES:
            raise CommandError(f"the command {self._argv!r} answered a line of more than {MAX_BYTES} bytes")
        if not line.endswith(b"\n"):
            raise CommandError(
                f"the command {self._argv!r} {self._how_it_ended()} before it answered{self._what_it_wrote()}"
            )
        self._refuse_more("after its answer", self._unread)
        shown = line[:_SHOWN].decode("utf-8", "replace")
        try:
            return read_json(line)
        except DuplicateKeyError as problem:
            why = f"has {problem}"
        except (ValueError, RecursionError):
            why = "is no JSON"
        raise CommandError(f"the command {self._argv!r} answered {shown!r}, which {why}{self._what_it_wrote()}")

    def _line(self) -> bytes:
        """One line with its end, or what came before the output's end or the limit; the rest stays unread."""
        read = bytearray()
        while b"\n" not in read and len(read) <= MAX_BYTES and (piece := self._read()):
            read += piece
        line, end, self._unread = bytes(read).partition(b"\n")
        return line + end

    def _read(self) -> bytes:
        return os.read(self._output(), _PIECE)

    def _output(self) -> int:
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        return self._process.stdout.fileno()

    def _waiting(self) -> bytes:
        """What it has written without having been asked."""
        ready, _, _ = select.select([self._output()], [], [], 0)
        return self._read() if ready else b""

    def _refuse_more(self, when: str, more: bytes) -> None:
        if more:
            shown = more[:_SHOWN].decode("utf-8", "replace")
            raise CommandError(
                f"the command {self._argv!r} wrote {shown!r} {when}. Write exactly one line for each request, "
                "and logs to standard error"
            )

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return "closed its output"
        self._listener.join(_PATIENCE)
        if code >= 0:
            return f"ended with exit code {code}"
        memory = " (the kernel sends SIGKILL when memory runs out)" if -code == signal.SIGKILL else ""
        name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"  # a real-time one
        return f"was ended by {name}{memory}"

    def _what_it_wrote(self) -> str:
        output = b"".join(self._last_lines).decode("utf-8", "replace").strip()
        return f". It wrote: {output}" if output else ""

    def end(self) -> None:
        """Close its input; what does not end by itself is killed with the conversation's process."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
