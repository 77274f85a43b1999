"""``events.jsonl``: what happens in a run, written down as it happens.

Each event is one line and one write, so that what a killed process has said stays and a reader sees whole lines.
Nothing is forced to the disk before the run ends: the file outlives the process, not the machine.
"""

import contextlib
import fcntl
import os
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from ratiba_action.core.event_lines import event_line
from ratiba_action.core.event_masking import EventMask
from ratiba_action.core.event_resumption import Said, said
from ratiba_action.core.model.event import Event, LoggedEvent

FILE = "events.jsonl"

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 65_536


class EventFile:
    """Implements ``EventLog``. Make one with ``open_event_file``.

    Args:
        path: of the file.
        descriptor: of the file, at its end.
        run: id of the run.
        before: what the run has said already; it is not said again.
        mask: takes out what must not be written.
        clock: tells the time, aware and in UTC.
        warn: told once when something cannot be written.
    """

    def __init__(
        self,
        path: Path,
        descriptor: int,
        run: str,
        before: Sequence[LoggedEvent],
        *,
        mask: EventMask,
        clock: Callable[[], datetime],
        warn: Callable[[str], None],
    ) -> None:
        self._path = path
        self._descriptor = descriptor
        self._run = run
        self._sequence = max((one.sequence for one in before), default=0)
        self._said: Counter[Said | None] = Counter(said(one.event) for one in before)
        self._mask = mask
        self._clock = clock
        self._warn = warn
        self._torn = False
        self._failed = False

    @property
    def run(self) -> str:
        """Id of the run."""
        return self._run

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def emit(self, event: Event) -> None:
        """Write an event down; see ``EventLog.emit``."""
        try:
            masked = self._mask.event(event)
            known = said(masked)
            if known is not None and self._said[known]:
                self._said[known] -= 1
                return
            self._sequence += 1
            self._write(event_line(LoggedEvent(self._run, self._sequence, self._clock(), masked)))
        except Exception as error:  # noqa: BLE001 - what tells of a run never stops it
            self._complain(error)

    def close(self) -> None:
        """Force what was written to the disk, and let go of the file; may be called twice."""
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):  # a pipe or a full disk; what could be written was
            os.fsync(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1

    def _write(self, line: str) -> None:
        # A line that a full disk has torn is ended first, so that it spoils no other.
        content = b"\n" * self._torn + line.encode("ascii") + b"\n"
        written = os.write(self._descriptor, content)
        self._torn = 0 < written < len(content)
        if written < len(content):
            raise OSError(f"only {written} of {len(content)} bytes could be written")

    def _complain(self, error: Exception) -> None:
        if not self._failed:
            self._failed = True
            told = error.strerror if isinstance(error, OSError) and error.strerror else error
            self._warn(f"Not every event of this run could be written to {str(self._path)!r}: {told}.")


def open_descriptor(path: Path, *, anew: bool) -> int:
    """Open the file at its end, without the line that a killed process has torn.

    Args:
        path: in a folder that is there.
        anew: forget what an earlier run has left there; only for a file that no other run writes.

    Raises:
        OSError: it cannot be written, or is a link.
    """
    if anew:
        path.unlink(missing_ok=True)
    descriptor = os.open(path, _FLAGS, 0o666)
    try:
        with contextlib.suppress(BlockingIOError):  # another run writes here, and may do so while this one heals
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _heal(descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _heal(descriptor: int) -> None:
    end = os.fstat(descriptor).st_size
    keep = end
    while keep:
        begin = max(0, keep - _CHUNK)
        newline = os.pread(descriptor, keep - begin, begin).rfind(b"\n")
        if newline >= 0:
            keep = begin + newline + 1
            break
        keep = begin
    if keep < end:
        os.ftruncate(descriptor, keep)
