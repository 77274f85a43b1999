"""What a step of a workflow prints, with nothing in it that the runner obeys but the gate's own commands.

A runner reads a step's standard output and error line by line, and obeys ``::command::`` at the start of a line and
``##[command]`` anywhere in it. So a process of its own stands between the file descriptors and the runner: whatever is
printed by a library, C code, a crash or a child passes it, and it outlives a gate that is killed. See
``docs/decisions/0029-runner-log-and-signals.md``.
"""

import atexit
import contextlib
import io
import os
import re
import select
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

from ratiba_action.util.interruption import SIGNALS

COMMANDS_FILE = "RATIBA_COMMANDS"
"""Names the file for the gate's own commands, where the action stops the runner from obeying what is printed."""

# A line ends where the runner's reader ends one. It drops white space in front of a command and compares texts in a
# way that knows characters without a width, so whatever cannot be seen counts as nothing.
_AT_START = re.compile(r"(^|[\r\n])([^!-~\w]*):(?=:)")
_ANYWHERE = re.compile(r"##(?=\[)")
_COMMAND = re.compile(r"::([a-z-]+)( [^\r\n]*?)?::([^\r\n]*)")
_LONGEST_LINE = 1 << 20

_NOT_KEPT = ("endgroup", "add-mask")
"""Commands that are in no file: the end of what is no group there, and secrets, which the action masks itself."""


def harmless(text: str) -> str:
    """Text of whole lines in which a runner finds no command: a space breaks each of them."""
    return _AT_START.sub(r"\1\2: ", _ANYWHERE.sub("## ", text))


class StepOutput(io.TextIOWrapper):
    """A standard stream whose lines pass the filter.

    Args:
        descriptor: 1 or 2.
    """

    def __init__(self, descriptor: int, line: "FilterProcess") -> None:
        super().__init__(
            open(descriptor, "wb", closefd=False),  # noqa: SIM115 - a descriptor, open as long as the process
            encoding="utf-8",
            errors="backslashreplace",
            line_buffering=True,
        )
        self.process = line

    def command(self, line: str) -> None:
        """Give the runner a command of the gate's own, on one line."""
        self.write(f"{self.process.token}{line}\n")
        self.flush()


class FilterProcess:
    """The process that stands between the descriptors 1 and 2 and what they were.

    It is forked, so that it shares no lock with this one, and it ends when this one has.

    Args:
        commands: file descriptor for the gate's own commands; -1 for those to stand among the lines.
    """

    def __init__(self, commands: int) -> None:
        self.token = f"{os.urandom(16).hex()}:"
        self._owner, self._ended = os.getpid(), False
        same_file = os.path.sameopenfile(1, 2)
        pipes = {1: os.pipe()} if same_file else {1: os.pipe(), 2: os.pipe()}
        gone, self._alive = os.pipe()
        # A handler of this process must not run in that one, which ends only after it.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self._number = os.fork()
        if not self._number:
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            for _, writing in pipes.values():
                os.close(writing)
            os.close(self._alive)
            sources = {pipe[0]: _OutputLines(target, self.token.encode(), commands) for target, pipe in pipes.items()}
            _filter(sources, gone)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(gone)
        for reading, _ in pipes.values():
            os.close(reading)
        for target in (1, 2):
            os.dup2(pipes.get(target, pipes[1])[1], target)
        for _, writing in pipes.values():
            os.close(writing)

    def finish(self) -> None:
        """Wait until all that was printed has passed; what is printed afterwards goes nowhere."""
        if self._ended or os.getpid() != self._owner:
            return
        self._ended = True
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        with contextlib.suppress(OSError):
            os.write(self._alive, b".")
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._number, 0)


def keep_harmless(environment: Mapping[str, str]) -> None:
    """Put the filter between the output of this process, and of its children, and the runner of a workflow.

    Call it before anything is printed and before a thread is started. Outside a workflow it does nothing.
    """
    if environment.get("GITHUB_ACTIONS") != "true" or isinstance(sys.stdout, StepOutput):
        return
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        if stream is None:  # it was closed when the process started
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        else:
            stream.flush()
    process = FilterProcess(_open_commands(environment.get(COMMANDS_FILE, "")))
    sys.stdout, sys.stderr = StepOutput(1, process), StepOutput(2, process)
    atexit.register(process.finish)


def leave(code: int) -> NoReturn:
    """End the process with all that it has printed, and wait for none of its threads."""
    if isinstance(sys.stdout, StepOutput):
        sys.stdout.process.finish()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_commands(path: str) -> int:
    """The action's file for commands, opened before any code of the change runs; -1 where there is none."""
    if not path:
        return -1
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


class _OutputLines:
    """What one descriptor gets, line by line.

    Args:
        token: in front of the gate's own commands.
        commands: see ``FilterProcess``.
    """

    def __init__(self, target: int, token: bytes, commands: int) -> None:
        self._target = target
        self._token = token
        self._commands = commands
        self._rest = b""

    def take(self, chunk: bytes) -> None:
        """Pass on what ends a line; the rest waits, so that no other line is joined to it."""
        whole, feed, rest = (self._rest + chunk).rpartition(b"\n")
        self._rest = rest
        if feed:
            self._pass(whole)
        if len(self._rest) > _LONGEST_LINE:
            self.end()

    def end(self) -> None:
        """Pass on a last line that nothing ended."""
        rest, self._rest = self._rest, b""
        if rest:
            self._pass(rest)

    def _pass(self, lines: bytes) -> None:
        plain: list[bytes] = []
        for line in lines.split(b"\n"):
            before, found, command = line.partition(self._token)
            if before or not found:
                plain.append(before)
            if found:
                self._show(plain)
                plain = []
                self._command(command)
        self._show(plain)

    def _show(self, lines: list[bytes]) -> None:
        if lines:
            # What is not UTF-8 could make the runner's reader take the rest for another encoding.
            text = b"\n".join([*lines, b""]).decode("utf-8", "replace")
            _write(self._target, harmless(text).encode())

    def _command(self, line: bytes) -> None:
        parsed = _COMMAND.fullmatch(line.decode("utf-8", "replace"))
        if parsed is None:
            self._show([line])
        elif self._commands < 0:
            _write(self._target, line + b"\n")
        elif parsed[1] == "group":
            self._show([parsed[3].encode()])
        elif parsed[1] not in _NOT_KEPT:
            _write(self._commands, line + b"\n")


def _filter(sources: dict[int, _OutputLines], gone: int) -> NoReturn:
    """Pass on lines until the process before has ended and nothing is left, or nobody reads them."""
    try:
        poll = select.poll()
        poll.register(gone, select.POLLIN)
        for source in sources:
            os.set_blocking(source, False)
            poll.register(source, select.POLLIN)
        while sources:
            ready = {number for number, _ in poll.poll()}
            for source in ready & sources.keys():
                if not _drain(source, sources[source]):
                    poll.unregister(source)
                    os.close(source)
                    del sources[source]
            if gone in ready:
                for source, lines in sources.items():
                    _drain(source, lines)
                    lines.end()
                break
    finally:
        os._exit(0)


def _drain(source: int, lines: _OutputLines) -> bool:
    """Pass on what there is; False when there will be no more, or nobody reads it."""
    try:
        while chunk := os.read(source, 65_536):
            lines.take(chunk)
        lines.end()
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _write(target: int, content: bytes) -> None:
    while content:
        try:
            content = content[os.write(target, content) :]
        except BlockingIOError:  # whoever made the pipe may have wanted it so
            select.select([], [target], [])
