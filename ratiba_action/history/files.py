"""Baselines in files: a ``results.json`` that was named, a folder of them, and whether a run is comparable with it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

from ratiba_action.errors import ConfigurationError, InfrastructureError, RatibaError
from ratiba_action.model.change import ChangedFiles
from ratiba_action.model.comparison import BaselineFacts, MeasuredRun, Rules
from ratiba_action.model.history import KeptRun
from ratiba_action.model.note import Caveat
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_file import COMPRESSED, MAX_BYTES, RESULTS
from ratiba_action.util.git import LINK, Git


def read_named_runs(named: Sequence[str]) -> tuple[MeasuredRun, ...]:
    """The run of each name.

    Args:
        named: paths of a ``results.json`` or ``results.json.gz``, or of the folder that holds it.

    Raises:
        ConfigurationError: some cannot be read; with every problem.
    """
    from ratiba_action.history.results import read_run
    from ratiba_action.reporting.results_json import results_in_folder

    runs, problems = [], []
    for name in named:
        try:
            path = Path(name)
            runs.append(read_run(results_in_folder(path) if path.is_dir() else path))
        except RatibaError as error:
            problems.append(f"{name!r}: {error.problem}")
    if problems:
        raise ConfigurationError("\n".join(problems), "Name results that a run of the gate has written.")
    return tuple(runs)


@dataclass(frozen=True, slots=True)
class FoundBaseline:
    """Runs of the base.

    Args:
        runs: the newest first; empty where there is nothing to compare with.
        source: the branch, file or folder that they come from.
        notes: what could not be used, and why.
        unanswered: they could not be looked for, which may be otherwise in a minute.
        lost: why what is there could not be read, where a change may have caused that; None otherwise.
    """

    runs: tuple[MeasuredRun, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    unanswered: bool = False
    lost: str | None = None

    def facts(self, now: datetime, rules: Rules) -> BaselineFacts | None:
        """What is reported of them; None where there is nothing.

        Args:
            now: when the run that compares began.
        """
        if not self.runs:
            return None
        newest = self.runs[0]
        stale = now - newest.started_at > timedelta(days=rules.stale_days)
        return BaselineFacts(self.source, newest.commit, newest.started_at, len(self.runs), stale)


Run = TypeVar("Run", MeasuredRun, KeptRun)


def newest_first(runs: Sequence[Run], pooled: int) -> tuple[Run, ...]:
    """The runs to pool, at most so many, the newest first."""
    return tuple(sorted(runs, key=lambda run: run.started_at, reverse=True)[:pooled])


NO_BASELINE = "No baseline: "


def no_baseline(why: str, remedy: str = "") -> str:
    """The note that says why something was not compared with, and what to do about it where that is known."""
    return Caveat(f"{NO_BASELINE}{why}", remedy)


def compared_with(results: Path, base: str, rules: Rules) -> Report:
    """The report of a run, compared with a base; its verdict is as it was.

    Args:
        results: the run's ``results.json``.
        base: another one, or the folder that holds it.

    Raises:
        ConfigurationError: one of both cannot be read, or holds nothing that was measured; with every problem.
    """
    from ratiba_action.reporting.results_json import read_results
    from ratiba_action.verdict.runs import compare_as_measured

    ours, theirs = read_named_runs((str(results), base))
    report = read_results(results)
    verdict = replace(report.verdict, comparison=compare_as_measured(ours, theirs, rules))
    facts = FoundBaseline((theirs,), base).facts(ours.started_at, rules)
    return replace(report, verdict=verdict, baseline=facts)


_MAX_FILES = 50


def read_named_baseline(
    named: str,
    root: Path,
    changed: ChangedFiles,
    repository: str = "",
    *,
    git: Git | None = None,
    pooled: int,
) -> FoundBaseline:
    """The runs that a path leads to; whatever is wrong with it is a note.

    Args:
        named: the path, relative to the working folder or absolute.
        root: the checkout. What the change itself edits in it is read as its base has it.
        repository: ``owner/name`` that the results must be about; empty where that is not known.
        git: the repository; None where there is none.
        pooled: how many runs at most.
    """
    path = Path(named)
    edited = _edited(path, root, changed)
    runs, notes = list[MeasuredRun](), list[str]()
    try:
        found = _of_base(path, root, changed, git) if edited else _of_checkout(path)
        for name, read in found.items():
            try:
                runs.append(_measured(read(), repository))
            except RatibaError as error:
                notes.append(no_baseline(f"{name!r}: {error.problem}"))
    except (OSError, InfrastructureError) as error:
        why = f"{named!r} cannot be read: {getattr(error, 'strerror', None) or error}."
        return FoundBaseline(notes=(no_baseline(why),), lost=why if edited else None)
    if edited:
        notes.append(f"The change itself edits {edited!r}, so it is compared with what its base has there.")
    elif not found:
        notes.append(no_baseline(f"there is no .json or .json.gz file in {named!r}."))
    return FoundBaseline(newest_first(runs, pooled), named, tuple(notes))


_Read = Callable[[], bytes]


def _of_checkout(path: Path) -> dict[str, _Read]:
    """What reads each file at a path, by its name."""
    from ratiba_action.reporting.results_json import results_content

    return {str(file): partial(results_content, file) for file in _files(path)}


def _of_base(path: Path, root: Path, changed: ChangedFiles, git: Git | None) -> dict[str, _Read]:
    """The same as the base of the change has it."""
    if git is None or changed.base is None:
        raise InfrastructureError("its base is not in this clone")
    place, commit = _place(path, root), git.tree(changed.base)
    above = {place.as_posix(), *(parent.as_posix() for parent in place.parents)}
    if any(name in above and entry.mode == LINK for name, entry in commit.items()):
        raise InfrastructureError("its base reaches it by a symbolic link")
    tree = {name: entry for name, entry in commit.items() if _is_results(PurePosixPath(name), place)}
    with git.blobs() as blobs:
        contents = {name: blobs.read(tree[name].id, MAX_BYTES) or b"" for name in sorted(tree)[:_MAX_FILES]}
    return {name: partial(bytes, content) for name, content in contents.items()}


def _measured(content: bytes, repository: str) -> MeasuredRun:
    from ratiba_action.history.results import load_baseline, measured_run

    return measured_run(load_baseline(content), repository)


def _is_results(name: PurePosixPath, place: PurePosixPath) -> bool:
    """Whether a file of a commit is what a named path leads to."""
    if name == place:
        return True
    below = name.relative_to(place).parts if name.is_relative_to(place) else ()
    own = len(below) == 1 and name.name.endswith((".json", ".json.gz"))
    return own or (len(below) == 2 and name.name in {RESULTS, COMPRESSED})  # noqa: PLR2004 - an artifact's own folder


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    # A downloaded artifact is a folder of its own.
    found = {*path.glob("*.json"), *path.glob("*/results.json")}
    # Of one that lies beside its compressed copy only one is read.
    compressed = {*path.glob("*.json.gz"), *path.glob("*/results.json.gz")}
    found |= {file for file in compressed if file.with_suffix("") not in found}
    return sorted(found)[:_MAX_FILES]


def _edited(path: Path, root: Path, changed: ChangedFiles) -> str:
    """The changed file that lies at the path or below it, as it is written or where links lead; empty for none."""
    real = PurePosixPath(os.path.relpath(os.path.realpath(path), os.path.realpath(root)))
    places = (_place(path, root), real)
    return next(
        (name for name in changed.paths if any(PurePosixPath(name).is_relative_to(place) for place in places)), ""
    )


def _place(path: Path, root: Path) -> PurePosixPath:
    """The path in the checkout, as it is written: a change can make a link of any part of it."""
    return PurePosixPath(os.path.relpath(os.path.normpath(Path(path).absolute()), os.path.realpath(root)))
