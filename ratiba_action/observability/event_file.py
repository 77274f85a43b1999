"""``events.jsonl``: what happens in a run, written down as it happens.

Each event is one line and one write, so that what a killed process has said stays and a reader sees whole lines.
Nothing is forced to the disk before the run ends: the file outlives the process, not the machine.
"""

import contextlib
import fcntl
import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from ratiba_action.model.event import Event, LoggedEvent
from ratiba_action.observability.event_lines import (
    EventKey,
    digest_of_run,
    ensure_plain_file,
    event_key,
    event_line,
    is_written_file,
    put_back,
)
from ratiba_action.observability.event_masking import EventMask
from ratiba_action.settings.report_folder import remove_entry

FILE = "events.jsonl"

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CHUNK = 65_536
_LOCK_TRIES = 20
_LOCK_WAIT = 0.05


class EventFile:
    """Implements ``EventLog``. Make one with ``open_event_file``.

    Args:
        descriptor: of the file, at its end.
        before: what the run has said already; it is not said again.
        mask: takes out what must not be written.
        clock: gives the time, aware and in UTC.
        warn: called once when something cannot be written, and when somebody else has changed what was.
        only_run: no other run writes to the file, so that it is put back when somebody has taken it away.
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
        only_run: bool = False,
    ) -> None:
        self._path: Path | None = path
        self._shown = repr(str(path))
        self._descriptor = descriptor
        self._run = run
        self._sequence = max((logged.sequence for logged in before), default=0)
        self._already_written: Counter[EventKey | None] = Counter(event_key(logged.event) for logged in before)
        self._mask = mask
        self._clock = clock
        self._warn = warn
        self._only_run = only_run
        self._begin = os.fstat(descriptor).st_size
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self._torn = False
        self._failed = False

    @property
    def run(self) -> str:
        """Id of the run."""
        return self._run

    @property
    def path(self) -> Path | None:
        """The file; None once it was closed and is not what the run has written."""
        return self._path

    def emit(self, event: Event) -> None:
        """Write an event down; see ``EventLog.emit``."""
        try:
            masked = self._mask.event(event)
            with self._lock:
                self._write_once(masked)
        except Exception as error:  # noqa: BLE001 - what reports a run never stops it
            self._complain(error)

    def close(self) -> None:
        """Force what was written to the disk, and let go of the file; may be called twice."""
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):  # a pipe or a full disk; what could be written was
            os.fsync(self._descriptor)
        try:
            self._check()
        except OSError as error:
            self._refuse(f"could not be checked: {error.strerror or error}")
        os.close(self._descriptor)
        self._descriptor = -1

    def _check(self) -> None:
        # What a full disk has torn was reported already, and its lines are no longer those that were meant.
        unchanged = self._failed or digest_of_run(self._descriptor, self._begin, self._run) == self._digest.hexdigest()
        if not unchanged:
            self._refuse("were changed by something else while the run went on")
        elif self._path is not None and not is_written_file(self._path, self._descriptor):
            if not self._only_run:
                self._refuse("are no longer in that file, which was moved or replaced while the run went on")
                return
            put_back(self._path, self._descriptor)
            self._warn(
                f"The events {self._shown} were replaced while the run went on; those of the run are there again."
            )

    def _refuse(self, why: str) -> None:
        self._path = None
        self._warn(f"The events {self._shown} {why}, so they are not used.")

    def _write_once(self, masked: Event) -> None:
        known = event_key(masked)
        if known is not None and self._already_written[known]:
            self._already_written[known] -= 1
            return
        self._sequence += 1
        self._write(event_line(LoggedEvent(self._run, self._sequence, self._clock(), masked)))

    def _write(self, line: str) -> None:
        # A line that a full disk has torn is ended first, so that it spoils no other.
        content = b"\n" * self._torn + line.encode("ascii") + b"\n"
        written = os.write(self._descriptor, content)
        self._torn = 0 < written < len(content)
        if written < len(content):
            raise OSError(f"only {written} of {len(content)} bytes could be written")
        self._digest.update(content)

    def _complain(self, error: Exception) -> None:
        if not self._failed:
            self._failed = True
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            self._warn(f"Not every event of this run could be written to {self._shown}: {reason}.")


def open_descriptor(path: Path, *, anew: bool) -> int:
    """Open the file at its end, without the line that a killed process has torn.

    Args:
        path: in a folder that is there.
        anew: forget what lies there, a folder too; only for a file that no other run writes.

    Raises:
        OSError: it cannot be written, is no plain file, or somebody keeps it locked.
    """
    if anew:
        remove_entry(path)
    descriptor = os.open(path, _FLAGS, 0o666)
    try:
        ensure_plain_file(descriptor)
        with contextlib.suppress(BlockingIOError):  # another run writes here, and may do so while this one heals
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _heal(descriptor)
        _share(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _share(descriptor: int) -> None:
    """Have no other run heal the file meanwhile; one that does so now is done in a moment."""
    for _ in range(_LOCK_TRIES):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return
        time.sleep(_LOCK_WAIT)
    raise OSError("somebody keeps it locked")


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
