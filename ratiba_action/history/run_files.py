"""Runs that were kept without a database: the ``results.json`` files of a folder, or of a branch of the repository."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

from ratiba_action.errors import ConfigurationError, GithubError, RatibaError
from ratiba_action.history.results import load_baseline
from ratiba_action.model.codec import RepeatedRecords
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_file import MAX_BYTES
from ratiba_action.util.git import LINK, SUBMODULE, Blobs, Git
from ratiba_action.util.locked_folder import read_plain_file

HISTORY_BRANCH = "ratiba-history"
"""The branch that runs are kept in unless another is named."""
_ENDINGS = (".json", ".json.gz")
_SHOWN = 300

Load = Callable[[], Report]
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A file of a run, as a ``Load`` that can also give what it reads.

    Args:
        content: reads the file; raises RatibaError where it cannot be read.
        known_digest: of the content where it is known without reading; empty where it is not.
    """

    content: Callable[[], bytes]
    known_digest: str = ""

    def __call__(self) -> Report:
        """The run in the file."""
        return self.report(None)

    def report(self, repeated: RepeatedRecords | None) -> Report:
        """The same, of many.

        Args:
            repeated: scenarios of the files that were read before.
        """
        return load_baseline(self.content(), repeated=repeated)

    def digest(self) -> str:
        """What distinguishes the content from any other."""
        return self.known_digest or sha256(self.content()).hexdigest()


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
        close: ends what reading has started; it starts again when it is needed.
    """

    source: str
    files: Mapping[str, Load]
    close: Callable[[], None] = lambda: None

    def read(self, keep: Callable[[Report], Kept]) -> FoundRuns[Kept]:
        """Read each file once, one after another; of a report nothing stays in memory but what is kept of it.

        Args:
            keep: raises ``RatibaError`` for a report that is of no use.

        Raises:
            GithubError: GitHub does not answer, so that nobody knows what the others hold.
        """
        repeated = RepeatedRecords()

        def kept(_name: str, load: Load) -> Kept:
            return keep(load.report(repeated) if isinstance(load, StoredRun) else load())

        return self.read_each(kept)

    def read_each(self, read: Callable[[str, Load], Kept]) -> FoundRuns[Kept]:
        """The same with a reader of one's own.

        Args:
            read: given a file's name and what reads it.

        Raises:
            GithubError: GitHub does not answer, so that nobody knows what the others hold.
        """
        runs, broken = list[tuple[str, Kept]](), list[BrokenFile]()
        try:
            for name, load in self.files.items():
                try:
                    runs.append((name, read(name, load)))
                except GithubError:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever somebody wrote into it, a file ends no reading
                    broken.append(BrokenFile(name, problem_of(error)))
        finally:
            self.close()
        return FoundRuns(tuple(runs), tuple(broken))


def problem_of(error: Exception) -> str:
    """Why a file holds no run, in one sentence."""
    if isinstance(error, RatibaError):
        return error.problem[:_SHOWN]
    return f"It could not be read: {type(error).__name__}."


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
    if git is None or found is None:
        return None
    blobs = git.blobs()
    return RunFiles(f"the branch {named!r}", _of_commit(git, blobs, found[1]), blobs.stop)


def _of_folder(folder: Path) -> dict[str, Load]:
    names = {name for name in _names_below(folder) if name.endswith(_ENDINGS)}
    # Of a file that lies beside its compressed copy only one is read.
    chosen = sorted(name for name in names if not (name.endswith(".gz") and name.removesuffix(".gz") in names))
    return {name: StoredRun(partial(_read_file, folder, name)) for name in chosen}


def _names_below(folder: Path) -> Iterator[str]:
    """Files below a folder, relative to it; hidden folders and links to others are not entered."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            yield os.path.relpath(os.path.join(place, name), folder)  # noqa: PTH118 - ten times as fast, of many files


def _read_file(folder: Path, name: str) -> bytes:
    try:
        return read_plain_file(folder, name, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"It cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _of_commit(git: Git, blobs: Blobs, commit: str) -> dict[str, Load]:
    tree = git.tree(commit)
    chosen = (name for name, entry in tree.items() if name.endswith(_ENDINGS) and entry.mode not in {LINK, SUBMODULE})
    return {name: StoredRun(partial(_read_blob, blobs, tree[name].id), f"git:{tree[name].id}") for name in chosen}


def _read_blob(blobs: Blobs, identifier: str) -> bytes:
    content = blobs.read(identifier, MAX_BYTES)
    if content is None:
        raise ConfigurationError("Its content is not in this clone.")
    return content
