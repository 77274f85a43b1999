"""Writes the report directory: all of its files, or none."""

import contextlib
import errno
import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.errors import PublishError
from ratiba_action.reporting.results_file import COMPRESSED
from ratiba_action.settings.report_folder import IGNORE_ALL, IGNORE_FILE, refuse_links, remove_entry

if TYPE_CHECKING:
    from ratiba_action.reporting.summary import ReportSummary

_MEANWHILE = frozenset({"events.jsonl", IGNORE_FILE})
"""Files that the gate itself writes there during the run."""


def entries_of(directory: Path) -> frozenset[str] | None:
    """Names in the report directory before any code of the change runs; empty if it does not exist.

    Returns:
        None if it is not a plain directory or cannot be read: it is left alone, and writing the report fails.
    """
    if directory.is_symlink():
        return None
    try:
        return frozenset(entry.name for entry in directory.iterdir())
    except FileNotFoundError:
        return frozenset()
    except OSError:
        return None


def remove_foreign_entries(directory: Path, known: frozenset[str] | None, ours: frozenset[str]) -> None:
    """Remove what appeared in the report directory during the run, so that it is not taken for the gate's.

    Args:
        known: result of ``entries_of`` before the run.
        ours: names of the gate's own files; folders with such a name are removed.

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


FILES = ("comment.md", "junit.xml", "results.csv", "ratiba.sarif", "report.html", "results.json")
"""Every file of a report. The last one is moved in last, so if it exists the others do, unless the disk was full."""

_NEEDED = ("comment.md", "results.json")
_FULL = (errno.ENOSPC, errno.EDQUOT)


FileParts = Callable[[], Iterable[bytes]]
"""Renders a file when it is written, so that no more than one is in memory, part by part where it is large."""


def plain_files(summary: "ReportSummary") -> dict[str, FileParts]:
    """The files that need no third-party package; enough for a run that measured nothing."""
    from ratiba_action.reporting.comment import render_comment
    from ratiba_action.reporting.results_json import results_parts

    return {
        "comment.md": lambda: [render_comment(summary).encode("utf-8", "replace")],
        "results.json": lambda: results_parts(summary),
    }


def write_report_directory(
    summary: "ReportSummary",
    directory: Path,
    known: frozenset[str] | None = None,
    render: "Callable[[ReportSummary], Mapping[str, FileParts]]" = plain_files,
) -> Mapping[str, Path]:
    """Write the files of a report.

    Everything is rendered and written beside the directory first and then moved in, so that readers find the complete
    files of one run and none of an earlier one. Other files in the directory, such as ``events.jsonl``, stay.

    Args:
        summary: with its secrets masked already.
        directory: created if missing.
        known: result of ``entries_of`` before the run; all other entries are removed. None: all stay.
        render: gives what renders each file, by name.

    Returns:
        The path of each file by its name.

    Raises:
        PublishError: a file could not be written. On a full disk the comment and the results are still written if
            they fit; otherwise what was there before is unchanged.
    """
    rendered = render(summary)
    contents = {name: rendered[name] for name in FILES if name in rendered}
    try:
        remove_foreign_entries(directory, known, frozenset(FILES))
    except OSError as error:
        raise _unwritable(directory, error) from error
    refuse_links(directory)
    _remove_abandoned(directory)
    try:
        _write(contents, directory)
    except OSError as error:
        if error.errno not in _FULL:
            raise _unwritable(directory, error) from error
        raise _full(contents, directory, error) from error
    return {name: directory / name for name in reversed(FILES) if name in contents}


def _write(contents: Mapping[str, FileParts], directory: Path) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    # On the same file system, so that each move is a rename.
    staging = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    lock = os.open(staging, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        # The gate's reports must not show up as changes in the repository, also where it is killed now.
        for name, parts in {IGNORE_FILE: lambda: [IGNORE_ALL], **contents}.items():
            with (staging / name).open("wb") as file:
                file.writelines(parts())
        _move(staging, directory, tuple(contents))
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        os.close(lock)


def _remove_abandoned(directory: Path) -> None:
    """Remove what gates have left that were killed while they wrote: files of a report in a folder that is not locked.

    One without a file may belong to a gate that is about to lock it.
    """
    for path in directory.parent.glob(f".{glob.escape(directory.name)}-{'[a-z0-9_]' * 8}"):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            stack.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (names := {entry.name for entry in path.iterdir()}) and names <= {*FILES, IGNORE_FILE}:
                shutil.rmtree(path)


def _full(contents: Mapping[str, FileParts], directory: Path, error: OSError) -> PublishError:
    """Write at least the files that a comment needs; returns the error that names what was written."""
    try:
        _write({name: content for name, content in contents.items() if name in _NEEDED}, directory)
    except OSError as again:
        return _unwritable(directory, again)
    return PublishError(
        f"Only {' and '.join(_NEEDED)} of the report could be written to {str(directory)!r}: {error.strerror}.",
        "Free space on that disk, or set report-dir to a folder on another disk.",
    )


def _move(staging: Path, directory: Path, names: tuple[str, ...]) -> None:
    if not directory.exists():
        # mkdtemp creates a directory for its owner only; a report gets the usual permissions.
        staging.chmod(0o777 & ~_umask())
        staging.rename(directory)
        return
    for name in FILES:
        if name not in names:
            (directory / name).unlink(missing_ok=True)
    (directory / COMPRESSED).unlink(missing_ok=True)  # of an earlier run
    for name in names:
        (staging / name).replace(directory / name)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _unwritable(directory: Path, error: OSError) -> PublishError:
    return PublishError(
        f"The report could not be written to {str(directory)!r}: {error.strerror or error}.",
        "Set report-dir to a folder that the gate can write to.",
    )
