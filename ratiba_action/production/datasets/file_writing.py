"""Writes pulled files into the scenarios folder: all of them or none, and never through a link."""

import os
from collections.abc import Mapping
from pathlib import Path

from ratiba_action.errors import UsageError
from ratiba_action.util.text import printable
from ratiba_action.util.whole_files import write_whole_files

_MAX_PARTS = 8
_LONGEST = 200
_LONGEST_PART = 100
_RESERVED = frozenset('<>:"|?*\\')
_OTHER_DATA = ("recordings", "calibration")

ALLOWED = "use a file below the scenarios folder, such as spa/booking.yaml"


def safe_path(path: object, suffixes: tuple[str, ...]) -> bool:
    """Whether a path relative to the scenarios folder may be written.

    It must be relative without "..", visible, not too long, and valid on every operating system.

    Args:
        path: untrusted, from a server.
        suffixes: allowed file suffixes.
    """
    if not isinstance(path, str) or not 0 < len(path) <= _LONGEST or printable(path) != path:
        return False
    parts = path.split("/")
    return (
        path.endswith(suffixes)
        and len(parts) <= _MAX_PARTS
        and parts[0].casefold() not in _OTHER_DATA
        and all(_safe_part(part) for part in parts)
    )


def _safe_part(part: str) -> bool:
    return (
        bool(part)
        and len(part.encode()) <= _LONGEST_PART
        and part[0] not in ".-~ "
        and part[-1] not in ". "
        and not _RESERVED & set(part)
    )


def replace_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files, replacing existing ones.

    Args:
        folder: of the scenarios; created if missing.
        contents: by path relative to it; the paths are safe.

    Raises:
        UsageError: a file cannot be written, or is behind a symbolic link; nothing was changed then.
    """
    try:
        for name in contents:
            if Path(os.path.realpath(folder / name)) != folder.resolve() / name:
                raise UsageError(f"{name!r} is behind a symbolic link, so nothing was written.", "Remove the link.")
        write_whole_files({folder / name: content for name, content in contents.items()})
    except OSError as error:
        raise UsageError(
            f"{error.filename!r} cannot be written: {error.strerror}; nothing was changed.", "Make its folder writable."
        ) from error
