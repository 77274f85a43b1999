"""Writes the report directory: all of its files, or none."""

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from ratiba_action.errors import PublishError
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import ReportSummary
from ratiba_action.settings.report_folder import refuse_links, remove_entry

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


FILES = ("comment.md", "junit.xml", "results.csv", "report.html", "results.json")
"""Every file of a report. The last one is moved in last: where it is, the others are, unless the disk was full."""

_NEEDED = ("comment.md", "results.json")
_FULL = (errno.ENOSPC, errno.EDQUOT)


def plain_files(summary: ReportSummary) -> dict[str, bytes]:
    """The files that need no package; they say everything about a run that measured nothing."""
    return {
        "comment.md": render_comment(summary).encode("utf-8", "replace"),
        "results.json": render_results(summary).encode("ascii"),
    }


def write_report_directory(
    summary: ReportSummary,
    directory: Path,
    known: frozenset[str] | None = None,
    render: Callable[[ReportSummary], Mapping[str, bytes]] = plain_files,
) -> Mapping[str, Path]:
    """Write the files of a report.

    Everything is rendered and written to the disk beside the directory first and then moved in, so that a reader
    finds the files of one run complete, and none of an earlier one. Other files in the directory, such as
    ``events.jsonl``, stay.

    Args:
        summary: with its secrets masked already.
        directory: made when it is not there.
        known: names that lay there before the run (``planted.entries_of``); all others are removed. None: all stay.
        render: the files' contents by name: the plain ones, or ``every_file``.

    Returns:
        The path of each file by its name.

    Raises:
        PublishError: a file could not be written. On a full disk the comment and the results are there all the same
            where they have room; otherwise what was there before is unchanged.
    """
    rendered = render(summary)
    contents = {name: rendered[name] for name in FILES if name in rendered}
    try:
        remove_planted(directory, known, frozenset(FILES))
    except OSError as error:
        raise _unwritable(directory, error) from error
    refuse_links(directory)
    if not directory.exists():
        # The gate's own reports are no change to the repository that they lie in.
        contents[".gitignore"] = b"*\n"
    try:
        _write(contents, directory)
    except OSError as error:
        if error.errno not in _FULL:
            raise _unwritable(directory, error) from error
        raise _full(contents, directory, error) from error
    return {name: directory / name for name in reversed(FILES) if name in contents}


def _write(contents: Mapping[str, bytes], directory: Path) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    # On the same file system, so that each move is a rename.
    staging = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    try:
        for name, content in contents.items():
            (staging / name).write_bytes(content)
        _move(staging, directory, tuple(contents))
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _full(contents: Mapping[str, bytes], directory: Path, error: OSError) -> PublishError:
    """Write at least what a comment can be made of; the error that says what is there."""
    try:
        _write({name: content for name, content in contents.items() if name in (*_NEEDED, ".gitignore")}, directory)
    except OSError as again:
        return _unwritable(directory, again)
    return PublishError(
        f"Of the report only {' and '.join(_NEEDED)} could be written to {str(directory)!r}: {error.strerror}.",
        "Make room on that disk, or name a folder on another one as report-dir.",
    )


def _move(staging: Path, directory: Path, names: tuple[str, ...]) -> None:
    if not directory.exists():
        # The directory that mkdtemp makes is for its owner only; a report is for whoever may read its parent.
        staging.chmod(0o777 & ~_umask())
        staging.rename(directory)
        return
    for name in FILES:
        if name not in names:
            (directory / name).unlink(missing_ok=True)
    for name in names:
        (staging / name).replace(directory / name)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _unwritable(directory: Path, error: OSError) -> PublishError:
    return PublishError(
        f"The report could not be written to {str(directory)!r}: {error.strerror or error}.",
        "Give the gate a folder that it may write to as report-dir.",
    )
