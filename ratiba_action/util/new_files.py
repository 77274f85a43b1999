"""Write new files into a repository, and never over one that is there."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from ratiba_action.errors import UsageError


def write_new_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write all of the files, or none.

    Args:
        folder: the repository's.
        contents: by path relative to it.

    Raises:
        UsageError: some of them exist, lie behind a symbolic link, or cannot be written; names all that exist.
    """
    there = [name for name in contents if os.path.lexists(folder / name)]
    if there:
        listed = "".join(f"\n  {name}" for name in there)
        raise UsageError(
            f"Nothing was written: these files exist already.{listed}\n", "Move them away, or write the others by hand."
        )
    with contextlib.ExitStack() as undo:
        for name, content in contents.items():
            _write(folder, name, content, undo)
        undo.pop_all()


def _write(folder: Path, name: str, content: bytes, undo: contextlib.ExitStack) -> None:
    path = folder / name
    try:
        if not Path(os.path.realpath(path.parent)).is_relative_to(folder.resolve()):
            raise UsageError(f"{name!r} would lie outside {str(folder)!r}, behind a symbolic link.", "Remove the link.")
        for parent in reversed([one for one in path.parents if one.is_relative_to(folder) and not one.exists()]):
            parent.mkdir()
            undo.callback(parent.rmdir)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        undo.callback(path.unlink)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        raise UsageError(
            f"{name!r} cannot be written: {error.strerror}; nothing was kept.", "Make its folder writable."
        ) from error
