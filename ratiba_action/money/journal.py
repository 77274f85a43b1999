"""The run's write-ahead journal: a private file outside the workspace that is written before money may be spent.

It outlives a killed process: what was handed to the kernel stays. It does not outlive the machine.
"""

import contextlib
import fcntl
import os
import stat
import time
from pathlib import Path

from ratiba_action.errors import LedgerError, UsageError
from ratiba_action.model.conversation import JournaledAnswer, Reservation, Usage
from ratiba_action.model.values import Usd
from ratiba_action.money.journal_lines import (
    Admitted,
    Begun,
    JournalState,
    Line,
    Released,
    Reserved,
    Settled,
    UnknownOutcome,
    encode,
    parse_journal,
    whole_lines,
)
from ratiba_action.money.sealed_journal import SealedCopy, SealedPlace

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class Journal:
    """A run's write-ahead journal, open and locked for as long as this process lives.

    It holds model answers as they came, because a resumed run needs them: only its owner may read it, and the
    gate deletes it once the report of its verdict is written. Make one with ``begin_journal`` or ``resume_journal``.

    Args:
        copy: written as the write-ahead journal is; None for none.
    """

    def __init__(self, path: Path, descriptor: int, state: JournalState, copy: SealedCopy | None = None) -> None:
        self.path = path
        self._copy = copy
        self.state = state
        self._descriptor = descriptor
        self._broken = ""

    def admitted(self, trial: str) -> None:
        """Write that a trial was let start.

        Raises:
            LedgerError: it could not be written.
        """
        self._write(Admitted(trial))

    def reserved(self, reservation: Reservation) -> None:
        """Write that a call is about to be made.

        Raises:
            LedgerError: it could not be written; the call must not be made.
        """
        self._write(Reserved(reservation))

    def settled(self, reservation: Reservation, usage: Usage, cost: Usd, answer: JournaledAnswer | None) -> None:
        """Write what a call cost and answered, in one line.

        Raises:
            LedgerError: it could not be written; a resumed run counts the call at its upper bound.
        """
        self._write(Settled(reservation.number, usage, cost, answer))

    def kept(self, reservation: Reservation) -> None:
        """Write that a reservation is spent.

        Raises:
            LedgerError: as ``settled``.
        """
        self._write(UnknownOutcome(reservation.number))

    def released(self, reservation: Reservation) -> None:
        """Write that a reservation was given back.

        Raises:
            LedgerError: as ``settled``.
        """
        self._write(Released(reservation.number))

    def close(self) -> None:
        """Let go of the file, which stays for a resumed run; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._copy is not None:
            self._copy.close()

    def _write(self, line: Line) -> None:
        if self._descriptor < 0:
            raise LedgerError(f"The run's write-ahead journal {str(self.path)!r} is closed.")
        if self._broken:
            raise self._failure(self._broken)
        text, before = encode(line), os.fstat(self._descriptor).st_size
        try:
            written = 0
            while written < len(text):
                written += os.write(self._descriptor, text[written:])
            if self._copy is not None:
                self._copy.append(text)
        except OSError as error:
            self._cut(before, str(error.strerror))
            raise self._failure(str(error.strerror)) from None

    def _cut(self, size: int, reason: str) -> None:
        """Take back half a line; where that fails, nothing more is written after it."""
        try:
            os.ftruncate(self._descriptor, size)
        except OSError:
            self._broken = reason

    def _failure(self, reason: str) -> LedgerError:
        return LedgerError(
            f"The run's write-ahead journal {str(self.path)!r} cannot be written: {reason}.",
            "Free some space: the gate makes no call that it cannot write down first.",
        )


def begin_journal(path: Path, identity: str, workspace: Path, sealed: SealedPlace | None = None) -> Journal:
    """Start the write-ahead journal of a new run; what a dead process left at the same place is replaced.

    Args:
        path: where; its folder is made, for the owner alone.
        identity: digest of what must be equal for another process to go on with the run.
        workspace: the repository, which the write-ahead journal must not lie in.
        sealed: where a copy is written that outlives this machine; None for none.

    Raises:
        LedgerError: a place is wrong or cannot be written, or a living process writes there.
    """
    _require_outside(path, workspace)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _clear(path)
        descriptor = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise _unusable(path, error) from None
    begun = Begun(identity, time.time_ns())
    journal = Journal(path, descriptor, JournalState(begun.identity, begun.began), _copied(sealed, descriptor))
    try:
        _lock(path, descriptor)
        journal._write(begun)  # noqa: SLF001 - the first line is no one else's to write
    except LedgerError:
        journal.close()
        raise
    return journal


def restore_journal(path: Path, content: bytes, workspace: Path) -> None:
    """Put what an earlier attempt has left elsewhere where ``resume_journal`` finds it.

    Args:
        path: where; what a dead process left there is replaced.
        workspace: as in ``begin_journal``.

    Raises:
        LedgerError: as ``begin_journal``.
    """
    _require_outside(path, workspace)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _clear(path)
        with os.fdopen(os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
    except OSError as error:
        raise _unusable(path, error) from None


def resume_journal(path: Path, identity: str, workspace: Path, sealed: SealedPlace | None = None) -> Journal:
    """Go on with the write-ahead journal of a run that was interrupted.

    Args:
        path: the file that ``begin_journal`` made.
        sealed: as there; the copy begins with the lines that are there.

    Raises:
        UsageError: there is none.
        LedgerError: it is another run's, somebody else's, malformed, or in use.
    """
    return _open_left(path, identity, workspace, cut_torn_line=True, sealed=sealed)


def _open_left(
    path: Path, identity: str, workspace: Path, *, cut_torn_line: bool, sealed: SealedPlace | None = None
) -> Journal:
    """Open what another process left; ``cut_torn_line`` cuts off what was being written at the kill."""
    _require_outside(path, workspace)
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise UsageError(
            "--resume: no interrupted run of this commit is left to go on with.",
            "Run without --resume; a run that ended with a conclusion needs none, and its report is in its folder.",
        ) from None
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        _require_private(path, descriptor)
        _lock(path, descriptor)
        content = _content(descriptor)
        state = parse_journal(path, content)
        _require_identity(path, state, identity)
        if cut_torn_line:
            os.ftruncate(descriptor, len(whole_lines(content)))
    except OSError as error:
        os.close(descriptor)
        raise _unusable(path, error) from None
    except LedgerError:
        os.close(descriptor)
        raise
    return Journal(path, descriptor, state, _copied(sealed, descriptor, whole_lines(content)))


def _copied(sealed: SealedPlace | None, descriptor: int, content: bytes = b"") -> SealedCopy | None:
    """A copy with the write-ahead journal's lines so far; where it cannot be written, that is closed."""
    if sealed is None:
        return None
    try:
        return SealedCopy(sealed, content.splitlines(keepends=True))
    except OSError as error:
        os.close(descriptor)
        raise _unusable(sealed.path, error) from None


def read_journal(path: Path, identity: str, workspace: Path) -> JournalState:
    """What the write-ahead journal of a run that was interrupted holds; the file stays as it is.

    Raises:
        LedgerError, UsageError: as ``resume_journal``.
    """
    journal = _open_left(path, identity, workspace, cut_torn_line=False)
    journal.close()
    return journal.state


def _clear(path: Path) -> None:
    """Remove a write-ahead journal that nobody writes."""
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _lock(path, descriptor)
            path.unlink()
        finally:
            os.close(descriptor)


def _content(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read()


def _lock(path: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LedgerError(
            f"The run's write-ahead journal {str(path)!r} is in use by another process.",
            "Wait until that run has ended.",
        ) from None


def _require_private(path: Path, descriptor: int) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise LedgerError(
            f"The run's write-ahead journal {str(path)!r} is no file that you alone can read and write.",
            "Somebody may have changed it: run without --resume.",
        )


def _require_identity(path: Path, state: JournalState, identity: str) -> None:
    if state.identity != identity:
        raise LedgerError(
            f"The run's write-ahead journal {str(path)!r} is of another run: its commit, scenarios, "
            "configuration or source of model answers differ.",
            "Run without --resume.",
        )


def _require_outside(path: Path, workspace: Path) -> None:
    if path.resolve().is_relative_to(workspace.resolve()):
        raise LedgerError(
            f"The run's write-ahead journal {str(path)!r} lies in the repository, where the change could write it.",
            "Set XDG_STATE_HOME to a folder outside the repository.",
        )


def _unusable(path: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"The run's write-ahead journal {str(path)!r} cannot be opened: {error.strerror}.", "Check its folder."
    )
