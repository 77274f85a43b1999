"""Up to when production was looked at, kept in a file between runs."""

import contextlib
import json
import os
import tempfile
from datetime import datetime
from pathlib import Path

from ratiba_action.errors import UsageError


def read_cursor(path: Path) -> datetime | None:
    """The moment, aware; None where no run has left one.

    Raises:
        UsageError: the file cannot be read or is not a cursor.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"The cursor {str(path)!r} cannot be read: {error.strerror}.", _REMEDY) from error
    try:
        moment = datetime.fromisoformat(json.loads(content)["until"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{str(path)!r} is no cursor of `ratiba sample`.", _REMEDY) from error
    if moment.tzinfo is None:
        raise UsageError(f"The cursor {str(path)!r} has a time without an offset.", _REMEDY)
    return moment


def write_cursor(path: Path, moment: datetime) -> None:
    """Keep a moment; a reader sees the earlier one or this one, never a part.

    Raises:
        UsageError: it cannot be written.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(json.dumps({"schema": 1, "until": moment.isoformat()}) + "\n")
        Path(temporary).replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            Path(temporary or path.parent / ".none").unlink()
        raise UsageError(f"The cursor {str(path)!r} cannot be written: {error.strerror}.", _REMEDY) from error


_REMEDY = "Name another file with --cursor, or begin anew with --since."
