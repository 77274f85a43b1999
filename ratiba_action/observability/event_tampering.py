"""Whether ``events.jsonl`` is still what the run has written: the system under test may run as the same user."""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from ratiba_action.settings.report_folder import remove_entry

_CHUNK = 1_048_576


def ensure_plain_file(descriptor: int) -> None:
    """Refuse a pipe or a device, which would hold whoever reads or writes it.

    Raises:
        OSError: it is one.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError("it is no plain file")


def is_written_file(path: Path, descriptor: int) -> bool:
    """Whether a path still leads to the open file, and by no link."""
    try:
        there = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, os.fstat(descriptor))


def digest_of_run(descriptor: int, begin: int, run: str) -> str:
    """SHA-256 of the lines of one run.

    Args:
        descriptor: of the open file.
        begin: byte that the run's first line may stand at.
        run: id of the run.
    """
    digest, start = hashlib.sha256(), f'{{"schema":1,"run":{json.dumps(run)},'.encode()
    for line in _lines(descriptor, begin):
        if line.startswith(start) or _run_of(line) == run:
            digest.update(line)
    return digest.hexdigest()


def put_back(path: Path, descriptor: int) -> None:
    """Make a path lead to a copy of the open file again.

    Args:
        path: what is there now is replaced.
        descriptor: of the file that the run has written.

    Raises:
        OSError: the copy cannot be written, or what is instead cannot be removed.
    """
    copy = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with copy.open("xb") as file:
            offset = 0
            while chunk := os.pread(descriptor, _CHUNK, offset):
                file.write(chunk)
                offset += len(chunk)
        remove_entry(path)
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)


def _lines(descriptor: int, begin: int) -> Iterator[bytes]:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(begin)
        yield from file


def _run_of(line: bytes) -> object:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content.get("run") if isinstance(content, dict) else None
