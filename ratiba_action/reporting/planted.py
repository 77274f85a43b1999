"""What the system under test, which may run as the gate's own user, put into the report directory during the run."""

import contextlib
from pathlib import Path

from ratiba_action.settings.report_folder import remove_entry

_MEANWHILE = frozenset({"events.jsonl", ".gitignore"})
"""What the gate itself writes there while the run goes on."""


def entries_of(directory: Path) -> frozenset[str] | None:
    """Names in the report directory before any code of the change runs; none when it is not there.

    Returns:
        None for what is no plain directory, or cannot be read: it is left alone and writing the report refuses it.
    """
    if directory.is_symlink():
        return None
    try:
        return frozenset(entry.name for entry in directory.iterdir())
    except FileNotFoundError:
        return frozenset()
    except OSError:
        return None


def remove_planted(directory: Path, known: frozenset[str] | None, ours: frozenset[str]) -> None:
    """Remove what came into the report directory during the run, so that nobody takes it for the gate's.

    Args:
        directory: of the report.
        known: what ``entries_of`` said before the run.
        ours: names of the gate's own files; a folder or a link of that name is in the way of the report.

    Raises:
        OSError: something cannot be removed.
    """
    if known is None:
        return
    if directory.is_symlink() or not directory.is_dir():
        directory.unlink(missing_ok=True)
        return
    for entry in directory.iterdir():
        in_the_way = entry.name in ours and entry.is_dir() and not entry.is_symlink()
        if in_the_way or entry.name not in known | _MEANWHILE:
            remove_entry(entry)
    if not known:
        with contextlib.suppress(OSError):  # a mount point stays, empty
            directory.rmdir()
