"""A baseline that was named: a ``results.json``, or a folder of them."""

import os
from pathlib import Path, PurePosixPath

from ratiba_action.errors import RatibaError
from ratiba_action.history.found import FoundBaseline, newest_first, no_baseline
from ratiba_action.history.results import read_baseline
from ratiba_action.model.change import ChangedFiles

_MOST_FILES = 50


def read_named_baseline(
    named: str, root: Path, changed: ChangedFiles, repository: str = "", *, pooled: int
) -> FoundBaseline:
    """The runs that a path leads to; whatever is wrong with it is a note.

    Args:
        named: the path, relative to the working folder or absolute.
        root: the checkout. What the change itself edits in it is not believed.
        changed: what the change edits.
        repository: ``owner/name`` that the results must be about; empty where that is not known.
        pooled: how many runs at most.
    """
    path = Path(named)
    edited = _edited(path, root, changed)
    if edited:
        return FoundBaseline(notes=(no_baseline(f"the change itself edits {edited!r}, so it is not compared with."),))
    try:
        files = _files(path)
    except OSError as error:
        return FoundBaseline(notes=(no_baseline(f"{named!r} cannot be read: {error.strerror or error}."),))
    runs, notes = [], []
    for file in files:
        try:
            runs.append(read_baseline(file, repository))
        except RatibaError as error:
            notes.append(no_baseline(f"{str(file)!r}: {error.problem}"))
    if not files:
        notes.append(no_baseline(f"there is no .json file in {named!r}."))
    return FoundBaseline(newest_first(runs, pooled), named, tuple(notes))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    # A downloaded artifact is a folder of its own.
    found = {*path.glob("*.json"), *path.glob("*/results.json")}
    return sorted(found)[:_MOST_FILES]


def _edited(path: Path, root: Path, changed: ChangedFiles) -> str:
    """The changed file that lies at the path or below it; empty for none."""
    inside = PurePosixPath(os.path.relpath(os.path.realpath(path), os.path.realpath(root)))
    return next((name for name in changed.paths if PurePosixPath(name).is_relative_to(inside)), "")
