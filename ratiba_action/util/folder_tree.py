"""A folder and all in it, as untrusted code left it: however deep, closed or full of links."""

import contextlib
import os
import stat
from collections.abc import Iterator
from itertools import count
from pathlib import Path


def paths_below(folder: Path) -> Iterator[Path]:
    """A folder and all in it, each folder before what it contains; no link is followed.

    A folder is listed after it was yielded, so that the caller can open it first; what cannot be listed is left out.
    """
    remaining = [(folder, True)]
    while remaining:
        path, is_folder = remaining.pop()
        yield path
        if is_folder:
            remaining += ((Path(entry), entry.is_dir(follow_symlinks=False)) for entry in _entries(path))


def remove_tree(folder: Path) -> None:
    """Delete a folder and all in it; what cannot be deleted stays.

    Args:
        folder: the gate's own, in which only the gate can rename the topmost entries.
    """
    import tempfile  # who only lists need not load it

    with contextlib.suppress(OSError):
        _open(folder)
        removing = Path(tempfile.mkdtemp(dir=folder))
        # Each folder is moved to the top before it is listed: paths stay short, and only the gate can rename it there.
        numbers, remaining = count(), [folder]
        while remaining:
            top = remaining.pop()
            for entry in _entries(top):
                if entry.path != str(removing):
                    remaining += _unlink_or_move(entry, removing / str(next(numbers)))
            if top != folder:
                _remove_empty(top)
        removing.rmdir()
        folder.rmdir()


def empty_folder(folder: Path) -> bool:
    """Delete all in a folder, which stays; whether nothing is left. No process may be working in it.

    Args:
        folder: in one of the gate's own.
    """
    import tempfile  # as above

    _open(folder)
    aside = Path(tempfile.mkdtemp(dir=folder.parent))
    for number, entry in enumerate(_entries(folder)):
        _unlink_or_move(entry, aside / str(number))
    remove_tree(aside)
    return not _entries(folder)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _unlink_or_move(entry: os.DirEntry[str], goal: Path) -> list[Path]:
    """Delete an entry; a folder is moved, and returned."""
    with contextlib.suppress(OSError):
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry)  # noqa: PTH108 - an entry is no Path
            return []
        _open(Path(entry))
        Path(entry).rename(goal)
        if not goal.is_symlink():
            return [goal]
        goal.unlink()
    return []


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _open(folder: Path) -> None:
    """Let the gate list, empty and move a folder of its own."""
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
        folder.chmod(stat.S_IRWXU)
