"""Runs that were kept without a database: the ``results.json`` files of a folder, or of a branch of the repository."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from ratiba_action.errors import ConfigurationError, GithubError, RatibaError
from ratiba_action.history.results import load_baseline
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_file import MAX_BYTES
from ratiba_action.util.git import LINK, SUBMODULE, Git
from ratiba_action.util.locked_folder import read_plain_file

HISTORY_BRANCH = "ratiba-history"
"""The branch that runs are kept in unless another is named."""
_ENDINGS = (".json", ".json.gz")
_SHOWN = 300

Load = Callable[[], Report]
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class BrokenFile:
    """A file that holds no run, and why, in one sentence."""

    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class FoundRuns(Generic[Kept]):
    """What was kept of each run.

    Args:
        runs: with the name of the file, in order of name.
        broken: every file that could not be read.
    """

    runs: tuple[tuple[str, Kept], ...]
    broken: tuple[BrokenFile, ...]


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of runs, none of them read yet.

    Args:
        source: what they come from, in words; of a folder its own name alone, since pages show it.
        files: what reads each one, by its name.
    """

    source: str
    files: Mapping[str, Load]

    def read(self, keep: Callable[[Report], Kept]) -> FoundRuns[Kept]:
        """Read each file once, one after another; of a report nothing stays in memory but what is kept of it.

        Args:
            keep: raises ``RatibaError`` for a report that is of no use.

        Raises:
            GithubError: GitHub does not answer, so that nobody knows what the others hold.
        """
        runs, broken = list[tuple[str, Kept]](), list[BrokenFile]()
        for name, load in self.files.items():
            try:
                runs.append((name, keep(load())))
            except GithubError:
                raise
            except RatibaError as error:
                broken.append(BrokenFile(name, error.problem[:_SHOWN]))
            except Exception as error:  # noqa: BLE001 - whatever somebody wrote into it, a file ends no reading
                broken.append(BrokenFile(name, f"It could not be read: {type(error).__name__}."))
        return FoundRuns(tuple(runs), tuple(broken))


def find_runs(named: str, git: Callable[[], Git | None]) -> RunFiles:
    """The files of a folder, or of a branch where there is no such folder.

    Args:
        named: a folder, or a branch of the repository or of its remote ``origin``.
        git: opens the repository; None where there is none.

    Raises:
        ConfigurationError: there is neither.
    """
    folder = Path(named)
    if folder.is_dir():
        return RunFiles(f"the folder {folder.resolve().name!r}", _of_folder(folder))
    found = _branch(named, git())
    if found is None:
        raise ConfigurationError(
            f"{named!r} is neither a folder nor a branch of this repository, so it has no runs.",
            f"Give a folder of results.json files with --from, or fetch the branch: git fetch origin {HISTORY_BRANCH}:"
            f"{HISTORY_BRANCH}",
        )
    return found


def runs_of_branch(named: str, git: Git | None) -> RunFiles:
    """The files of a branch of a checkout, or of its remote ``origin``.

    Raises:
        ConfigurationError: it is in neither.
    """
    found = _branch(named, git)
    if found is None:
        raise ConfigurationError(
            f"This checkout has no branch {named!r}.", f"Fetch it: git fetch origin {named}:{named}"
        )
    return found


def _branch(named: str, git: Git | None) -> RunFiles | None:
    refs = (f"refs/heads/{named}", f"refs/remotes/origin/{named}")
    found = None if git is None or "\n" in named else git.first_commit(refs)
    return None if git is None or found is None else RunFiles(f"the branch {named!r}", _of_commit(git, found[1]))


def _of_folder(folder: Path) -> dict[str, Load]:
    names = {name for name in _names_below(folder) if name.endswith(_ENDINGS)}
    # Of a file that lies beside its compressed copy only one is read.
    chosen = sorted(name for name in names if not (name.endswith(".gz") and name.removesuffix(".gz") in names))
    return {name: partial(_load_file, folder, name) for name in chosen}


def _names_below(folder: Path) -> Iterator[str]:
    """Files below a folder, relative to it; hidden folders and links to others are not entered."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            yield os.path.relpath(os.path.join(place, name), folder)  # noqa: PTH118 - ten times as fast, of many files


def _load_file(folder: Path, name: str) -> Report:
    try:
        content = read_plain_file(folder, name, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"It cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    return load_baseline(content)


def _of_commit(git: Git, commit: str) -> dict[str, Load]:
    tree = git.tree(commit)
    chosen = (name for name, entry in tree.items() if name.endswith(_ENDINGS) and entry.mode not in {LINK, SUBMODULE})
    return {name: partial(_load_blob, git, tree[name].id) for name in chosen}


def _load_blob(git: Git, identifier: str) -> Report:
    with git.blobs() as blobs:
        content = blobs.read(identifier, MAX_BYTES)
    if content is None:
        raise ConfigurationError("Its content is not in this clone.")
    return load_baseline(content)
