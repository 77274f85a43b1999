"""The sealed copy of a write-ahead journal, which outlives the container that the run was in.

A file of lines. The first is a header in plain JSON: which run, which attempt, and a random salt. Each further line is
one line of the write-ahead journal, encrypted and authenticated (XSalsa20-Poly1305 of libsodium) under a key that is
derived from the secret and the header (HMAC-SHA256, RFC 2104). The nonce begins with the number of the line. So a line
opens only at its own place in the file of its own run: none can be moved, repeated, left out, taken from another file,
or forged. A line without its end is what a kill leaves, and is ignored.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ratiba_action.errors import LedgerError

FORMAT = 1
SUFFIX = ".journal"
MAX_BYTES = 250_000_000
"""Of a copy; a larger one is not read."""

_NEW_RUN = (
    "Start a new workflow run with a new commit, or delete the artifacts of this one whose names begin with "
    "'ratiba-journal' and run it again; what was spent before is then not counted."
)
_NUMBER_BYTES, _RANDOM_BYTES = 8, 16
"""Of a nonce: a line that could not be written, and another one in its place, must not share one."""
_MAX_OF_HEADER = 10_000
_SHOWN = 16
_PURPOSE = b"ratiba write-ahead journal\0"
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class JournalRun:
    """Which run a copy is of; every attempt of it has the same.

    Args:
        repository: as ``OWNER/NAME``.
        shard: as ``3/8``; empty for a whole run.
    """

    repository: str
    run_id: int
    gate: str
    shard: str = ""

    @property
    def fields(self) -> dict[str, str | int]:
        """Its part of a header."""
        return {"repository": self.repository, "run": self.run_id, "gate": self.gate, "shard": self.shard}

    def file_name(self, attempt: int) -> str:
        """The name of an attempt's copy: attempts and gates of one job have different ones."""
        digest = hashlib.sha256(json.dumps(self.fields, sort_keys=True).encode()).hexdigest()
        return f"{digest[:_SHOWN]}-{attempt}{SUFFIX}"


@dataclass(frozen=True, slots=True)
class SealedPlace:
    """Where an attempt of a run keeps its copy.

    Args:
        folder: made if it is missing.
        attempt: of the run, from 1.
        holds: earlier attempts whose lines this one begins with.
    """

    folder: Path
    key: str = field(repr=False)
    run: JournalRun
    attempt: int
    holds: tuple[int, ...] = ()

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / self.run.file_name(self.attempt)


@dataclass(frozen=True, slots=True)
class OpenedCopy:
    """What an earlier attempt has left.

    Args:
        holds: attempts before it whose lines it has, too.
        concluded: whether that attempt ran to its end, so that there is nothing to go on with.
        content: lines of the write-ahead journal; none if it is concluded.
    """

    attempt: int
    holds: tuple[int, ...]
    concluded: bool
    content: bytes = field(repr=False)


class SealedCopy:
    """A copy that is being written: line by line, as the write-ahead journal is.

    It gets its name when the first lines are in it: a kill before that leaves no copy that has fewer than the one
    which they come from.

    Args:
        place: of the copy; what is there already is replaced.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, place: SealedPlace, lines: Iterable[bytes] = (), *, concluded: bool = False) -> None:
        place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        beginning = place.path.with_suffix(".part")
        beginning.unlink(missing_ok=True)
        fields = {"format": FORMAT, **place.run.fields, "attempt": place.attempt, "holds": list(place.holds)}
        fields |= {"concluded": concluded, "salt": secrets.token_hex(16)}
        header = json.dumps(fields, separators=(",", ":")).encode("ascii")
        self._lines = _SealedLines(place.key, header)
        self._broken: OSError | None = None
        self._descriptor = os.open(beginning, _FLAGS, 0o600)
        try:
            self._append(header)
            for line in lines:
                self.append(line)
            beginning.rename(place.path)
        except OSError:
            self.close()
            beginning.unlink(missing_ok=True)
            raise

    def append(self, line: bytes) -> None:
        """Add a line of the write-ahead journal.

        Raises:
            OSError: it cannot be written; nothing of it stands in the file, or nothing can be added any more.
        """
        if self._broken is not None:
            raise self._broken
        self._append(self._lines.sealed(line))
        self._lines.number += 1

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, line: bytes) -> None:
        text, before, written = line + b"\n", os.fstat(self._descriptor).st_size, 0
        try:
            while written < len(text):
                written += os.write(self._descriptor, text[written:])
        except OSError as error:
            try:
                os.ftruncate(self._descriptor, before)
            except OSError:
                self._broken = error
            raise


def conclude_copy(place: SealedPlace) -> None:
    """Leave nothing to go on with: the run has ended. A later attempt leaves that it has, for the ones before it.

    Raises:
        OSError: it cannot be written.
    """
    place.path.unlink(missing_ok=True)
    if place.attempt > 1:
        SealedCopy(place, [b""], concluded=True).close()


def find_copy(folder: Path, key: str, run: JournalRun, attempt: int) -> OpenedCopy | None:
    """What the attempt just before this one has left; of several copies, the longest.

    An older attempt is not gone on with: whoever removes the copy of the last one could choose, among the answers of
    several attempts, those that count.

    Args:
        folder: with copies; written by somebody who is not trusted.
        run: copies of others are passed over.

    Raises:
        LedgerError: a copy was altered, sealed with another key, has more than ``MAX_BYTES``, or cannot be read.
    """
    headers = [found for path in sorted(folder.rglob(f"*{SUFFIX}")) if (found := _header(path, run)) is not None]
    copies = [open_copy(path, key, run) for last, path in headers if last == attempt - 1]
    return max(filter(None, copies), key=lambda copy: (copy.concluded, len(copy.content)), default=None)


def open_copy(path: Path, key: str, run: JournalRun) -> OpenedCopy | None:
    """Read a copy; None for one of another run, or without any line.

    Raises:
        LedgerError: it was altered, sealed with another key, or cannot be read.
    """
    header, *lines = _whole_lines(path)
    fields = _fields(header)
    if fields is None or any(fields.get(name) != value for name, value in run.fields.items()) or not lines:
        return None
    opening = _SealedLines(key, header)
    try:
        content = [opening.opened(line) for line in lines]
    except ValueError as problem:
        raise _altered(path, str(problem)) from None
    attempt, holds = fields.get("attempt"), fields.get("holds")
    if fields.get("format") != FORMAT or not _are_attempts([attempt]) or not _are_attempts(holds):
        raise LedgerError(
            f"The sealed write-ahead journal {path.name!r} is of another version of the gate.",
            _NEW_RUN,
        )
    concluded = fields.get("concluded") is True
    return OpenedCopy(int(str(attempt)), tuple(holds or ()), concluded, b"" if concluded else b"".join(content))


def _are_attempts(given: Any) -> bool:
    return isinstance(given, list) and all(type(each) is int and each >= 1 for each in given)


def _header(path: Path, run: JournalRun) -> tuple[int, Path] | None:
    """The attempt that a copy says it is of; None for one of another run, or for no copy at all."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            fields = _fields(file.readline(_MAX_OF_HEADER).removesuffix(b"\n"))
    except OSError as error:
        raise _unreadable(path, error) from None
    if fields is None or not run.fields.items() <= fields.items() or not _are_attempts([fields.get("attempt")]):
        return None
    return fields["attempt"], path


def _fields(header: bytes) -> Mapping[str, Any] | None:
    try:
        fields = json.loads(header)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of a copy without their ends, at least one; what follows the last end was being written at the kill."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(content) > MAX_BYTES:
        raise LedgerError(
            f"The sealed write-ahead journal {path.name!r} has more than {MAX_BYTES // 1_000_000} MB, which is too "
            "much to go on with.",
            _NEW_RUN,
        )
    whole, _, _ = content.rpartition(b"\n")
    yield from whole.split(b"\n")


def _unreadable(path: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"The sealed write-ahead journal {path.name!r} of an earlier attempt cannot be read: {error.strerror}.",
        "Check its folder.",
    )


def _altered(path: Path, why: str) -> LedgerError:
    return LedgerError(
        f"The sealed write-ahead journal {path.name!r} of an earlier attempt is not used: {why}.",
        f"Somebody may have changed it, or journal-key is another one now. {_NEW_RUN}",
    )


class _SealedLines:
    """Seals and opens the lines of one copy, in their order."""

    def __init__(self, key: str, header: bytes) -> None:
        from nacl.secret import SecretBox  # loads libsodium, for a run with a key alone

        self._box = SecretBox(hmac.new(os.fsencode(key), _PURPOSE + header, hashlib.sha256).digest())
        self.number = 1

    def sealed(self, line: bytes) -> bytes:
        """The line that comes next in the copy."""
        chosen = secrets.token_bytes(_RANDOM_BYTES)
        return base64.b64encode(chosen + self._box.encrypt(line, self._nonce(chosen)).ciphertext)

    def opened(self, line: bytes) -> bytes:
        """The line of the write-ahead journal that comes next."""
        from nacl.exceptions import CryptoError

        try:
            sealed = base64.b64decode(line, validate=True)
            if base64.b64encode(sealed) != line:
                raise ValueError("bits that no byte has were altered")  # noqa: TRY301 - one message for any change
            opened = self._box.decrypt(sealed[_RANDOM_BYTES:], self._nonce(sealed[:_RANDOM_BYTES]))
        except (CryptoError, ValueError):
            raise ValueError(f"its line {self.number + 1} is not the one that was written there") from None
        self.number += 1
        return bytes(opened)

    def _nonce(self, chosen: bytes) -> bytes:
        return self.number.to_bytes(_NUMBER_BYTES, "big") + chosen
