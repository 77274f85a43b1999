"""Baselines in files: a ``results.json`` that was named, a folder of them, and whether a run is comparable with it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import TypeVar

from ratiba_action.errors import ConfigurationError, RatibaError
from ratiba_action.history.results import read_baseline
from ratiba_action.model.change import ChangedFiles
from ratiba_action.model.comparison import BaselineFacts, MeasuredRun, Rules
from ratiba_action.model.history import KeptRun
from ratiba_action.model.note import Note
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_json import read_results, results_in_folder
from ratiba_action.verdict.runs import compare_as_measured


def read_named_runs(named: Sequence[str]) -> tuple[MeasuredRun, ...]:
    """The run of each name.

    Args:
        named: paths of a ``results.json`` or ``results.json.gz``, or of the folder that holds it.

    Raises:
        ConfigurationError: some cannot be read; tells every problem.
    """
    runs, problems = [], []
    for name in named:
        try:
            path = Path(name)
            runs.append(read_baseline(results_in_folder(path) if path.is_dir() else path))
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
    """

    runs: tuple[MeasuredRun, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    unanswered: bool = False

    def facts(self, now: datetime, rules: Rules) -> BaselineFacts | None:
        """What is told of them; None where there is nothing.

        Args:
            now: when the run that compares began.
            rules: say what is stale.
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


def no_baseline(why: str, remedy: str = "") -> str:
    """The note that says why something was not compared with, and what to do about it where that is known."""
    message = f"No baseline: {why}"
    return Note(message, remedy) if remedy else message


def compared_with(results: Path, base: str, rules: Rules) -> Report:
    """The report of a run, compared with a base; its verdict is as it was.

    Args:
        results: the run's ``results.json``.
        base: another one, or the folder that holds it.
        rules: of the comparison.

    Raises:
        ConfigurationError: one of both cannot be read, or holds nothing that was measured; tells every problem.
    """
    ours, theirs = read_named_runs((str(results), base))
    report = read_results(results)
    verdict = replace(report.verdict, comparison=compare_as_measured(ours, theirs, rules))
    facts = FoundBaseline((theirs,), base).facts(ours.started_at, rules)
    return replace(report, verdict=verdict, baseline=facts)


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
        notes.append(no_baseline(f"there is no .json or .json.gz file in {named!r}."))
    return FoundBaseline(newest_first(runs, pooled), named, tuple(notes))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    # A downloaded artifact is a folder of its own.
    found = {*path.glob("*.json"), *path.glob("*/results.json")}
    # Of one that lies beside its compressed copy only one is read.
    compressed = {*path.glob("*.json.gz"), *path.glob("*/results.json.gz")}
    found |= {file for file in compressed if file.with_suffix("") not in found}
    return sorted(found)[:_MOST_FILES]


def _edited(path: Path, root: Path, changed: ChangedFiles) -> str:
    """The changed file that lies at the path or below it; empty for none."""
    inside = PurePosixPath(os.path.relpath(os.path.realpath(path), os.path.realpath(root)))
    return next((name for name in changed.paths if PurePosixPath(name).is_relative_to(inside)), "")
