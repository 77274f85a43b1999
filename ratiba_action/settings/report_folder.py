"""Which folder the reports may be written to: a plain one, and in a workflow one of the workspace."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ratiba_action.errors import PublishError

IGNORE_FILE, IGNORE_ALL = ".gitignore", b"*\n"
"""Name and content of what keeps a report folder out of commits."""

_EARLIER = ("results.json", "events.jsonl")
_ALLOWED = "a folder's path without '..' and '.git', and not the checkout itself"


def parse_report_folder(text: str) -> str:
    """Where reports go; on a machine of one's own it may lie outside the repository.

    Raises:
        ValueError: it is empty, no path, the repository or the file system itself, leads out by ``..``, or lies in
            ``.git``.
    """
    path = PurePosixPath(text)
    names = [part.lower() for part in path.parts if part != path.root]
    if not names or "\0" in text or ".." in names or ".git" in names:
        raise ValueError(_ALLOWED)
    return text


def misplaced_report_folder(folder: str, environment: Mapping[str, str]) -> str:
    """What is allowed instead of a folder that only this machine can tell is wrong; empty for a good one.

    In the action's container the runner has checked the folder that people know.

    Args:
        folder: one that ``parse_report_folder`` lets pass.
        environment: the process's own; names the workspace and the runner's temporary folder.
    """
    named = environment.get("GITHUB_WORKSPACE") or ""
    found = Path(folder).absolute()
    if found in {Path.cwd(), *_spellings(named)}:
        return _ALLOWED
    in_workflow = environment.get("GITHUB_ACTIONS") == "true" and not environment.get("RATIBA_REPORT_DIR_OUTSIDE")
    places = [place for name in (named, environment.get("RUNNER_TEMP") or "") for place in _spellings(name)]
    if in_workflow and named and not any(found.is_relative_to(place) for place in places):
        return "a folder inside the workspace or the runner's temporary folder"
    return ""


def refuse_links(directory: Path) -> None:
    """A link that a change brings must not lead the report to another place.

    Raises:
        PublishError: one does.
    """
    inside = directory.is_relative_to(Path.cwd())
    real = Path(os.path.realpath(directory))
    if directory.is_symlink() or (inside and not real.is_relative_to(Path.cwd().resolve())):
        raise PublishError(
            f"The report was not written to {str(directory)!r}: a symbolic link leads it elsewhere.",
            "Give the gate a plain folder as report-dir.",
        )


def make_report_folder(directory: Path) -> None:
    """Make the folder with a ``.gitignore``: the gate's own reports are no change to the repository that they lie in.

    A folder that is there stays as it is; somebody may want to commit it.

    Raises:
        PublishError: it cannot be made.
    """
    if directory.is_dir():
        return
    try:
        directory.mkdir(parents=True)
        (directory / IGNORE_FILE).write_bytes(IGNORE_ALL)
    except OSError as error:
        raise PublishError(
            f"The report directory {str(directory)!r} could not be made: {error.strerror or error}.",
            "Set report-dir to a folder that the gate can write to.",
        ) from error


def remove_earlier_results(directory: Path) -> None:
    """Remove the results and events that lie there before a run: the checkout's own could pass for what it has found.

    Raises:
        PublishError: they cannot be removed, or a link leads out of the checkout.
    """
    directory = directory.absolute()
    refuse_links(directory)
    for name in _EARLIER:
        try:
            remove_entry(directory / name)
        except OSError as error:
            raise PublishError(
                f"The earlier results {str(directory / name)!r} could not be removed: {error.strerror or error}.",
                "Give the gate a folder of its own as report-dir.",
            ) from error


def remove_entry(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there.

    Raises:
        OSError: it cannot be removed.
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _spellings(folder: str) -> tuple[Path, ...]:
    """A folder as it is named and, since a link may lead to it, as it is; none of an empty name."""
    return (Path(folder).absolute(), Path(os.path.realpath(folder))) if folder else ()
