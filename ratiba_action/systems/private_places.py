"""Files of the gate that the system under test must not open, though it may run as the same user."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ratiba_action.util.git import Git

_FOLDERS = ("ratiba-pg-*", ".ratiba-pg-*", "ratiba-run-*", ".ratiba-run-*")
_CHECKOUT_CREDENTIALS = "git-credentials-*"
_STEP_FILES = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "RATIBA_SEAL")


def private_places(environment: Mapping[str, str], report_dir: str) -> tuple[str, ...]:
    """Absolute paths, links followed; a ``*`` at the end stands for every name that begins so.

    The embedded database and the run's own folder, those of other runs too; the report, as it is staged as well; the
    folders of the files that a step hands to the runner.

    Args:
        environment: the gate's own.
        report_dir: as the settings name it.
    """
    temporary = Path(tempfile.gettempdir()).resolve()
    report = Path(os.path.realpath(report_dir))
    steps = {str(Path(os.path.realpath(path)).parent) for name in _STEP_FILES if (path := environment.get(name))}
    staged = report.with_name(f".{report.name}-*")
    return (*(str(temporary / name) for name in _FOLDERS), str(report), str(staged), *sorted(steps - {"/", "/dev"}))


def places_of_job(git: Git | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What a job holds beside the system's files: its checkout, with ``.git`` and all that git does not track.

    The system has a copy of what is tracked. Where the gate's own interpreter lies in the checkout, it stays open: the
    system may run by it.

    Args:
        git: the repository; None where there is none.
        environment: the gate's own.
    """
    own = Path(sys.prefix).resolve()
    workspace = environment.get("GITHUB_WORKSPACE")
    tops = {Path(workspace).resolve()} if workspace else set[Path]()
    places = set[Path]()
    if git is not None:
        tops.add(git.root)
        places.update(git.folders)
    closed = {place for top in tops for place in _all_but(top, own)}
    temporary = environment.get("RUNNER_TEMP")
    more = [str(Path(temporary).resolve() / _CHECKOUT_CREDENTIALS)] if temporary else []
    return (*sorted(map(str, closed | places)), *more)


def _all_but(folder: Path, kept: Path) -> Iterator[Path]:
    """A folder, or where something in it is kept, everything else in it."""
    if not kept.is_relative_to(folder) or os.path.lexists(kept / ".git"):
        yield folder
        return
    for entry in sorted(folder.iterdir()) if folder != kept else ():
        yield from _all_but(entry, kept) if kept.is_relative_to(entry) else (entry,)
