"""Reads the base commit, which a pull request cannot change."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.decide.contents import Contents
from ratiba_action.decide.read import Change
from ratiba_action.errors import InfrastructureError, RatibaError, SuiteError
from ratiba_action.llm.recordings.lines import JudgeRecording, Recording
from ratiba_action.llm.recordings.reader import parse_recordings, without_reads
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.case_file import CaseFile
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.settings.input_values import parse_folder
from ratiba_action.settings.settings import Settings
from ratiba_action.suite.load import is_data_file, is_scenario_file, load_suite
from ratiba_action.suite.team_tests import TestFiles, find_tests, with_tests
from ratiba_action.util.git import EXECUTABLE, LINK, SUBMODULE, Git
from ratiba_action.util.large_files import as_checked_out
from ratiba_action.util.text import short_commit

_NAMING_A_BASE = ("pull_request", "pull_request_review", "merge_group")
"""Events that are about a change of a base, whether or not they could be read."""


@dataclass(frozen=True, slots=True)
class BaseCommit:
    """Reads the base commit of a change."""

    settings: Settings
    change: Change
    contents: Contents

    def require(self) -> None:
        """Check that a change can be compared with the base that its event names.

        Raises:
            InfrastructureError: the base commit is not in this clone, or the event or the repository could not be read.
        """
        if self.known:
            return
        subject, doubt = self.change.subject, self.change.files.doubt
        if subject.pull_request is None and subject.event not in _NAMING_A_BASE:
            return
        if doubt or subject.pull_request is None:
            why = (doubt or "it is not known").rstrip(".")
            raise InfrastructureError(f"This change cannot be compared with its base: {why}.", "Run the gate again.")
        raise InfrastructureError(
            "This pull request cannot be compared with its base: the base commit is not in this clone.",
            "Check out the merge commit with its parents: fetch-depth: 2.",
        )

    @property
    def known(self) -> bool:
        """Whether there is a base commit that can be read."""
        return self.change.git is not None and self.change.files.base is not None

    @property
    def has_configuration(self) -> bool:
        """Whether there is a configuration at all; without one the change is the first to have one.

        Raises:
            InfrastructureError: it cannot be read from this clone.
        """
        return self._read(self.settings.config) is not None

    def configuration(self) -> Configuration | None:
        """Its configuration; None where it has none, or none that could be used.

        Raises:
            InfrastructureError: it cannot be read from this clone.
        """
        content = self._read(self.settings.config)
        try:
            return read_configuration(self.settings.config, content) if content is not None else None
        except SuiteError:
            return None

    def suite(
        self, head: Suite, files: Mapping[str, bytes], configuration: Configuration | None
    ) -> tuple[Suite, tuple[str, ...]]:
        """Its scenarios and case files, file by file, and the names of files that it could not have run either.

        Args:
            head: as it was loaded from the checkout; what the change left as it was is not read twice.
            files: the scenario and data files of the checkout by their path.
            configuration: of the base, which names its tests; None where it has none.

        Raises:
            InfrastructureError: they cannot be read from this clone.
        """
        timezone = (configuration.timezone if configuration is not None else None) or ""
        scenarios, data_sets, unusable = list[Scenario](), list[CaseFile](), list[str]()
        folder = self.settings.scenarios
        names = self._names(folder)
        data = {name: self._read(name) or b"" for name in names if is_data_file(name, folder)}
        # Rows and catalogues are parts of the scenarios that name them.
        unchanged = data == {name: files[name] for name in files if is_data_file(name, folder)}
        known = {scenario.path: scenario for scenario in head.scenarios if unchanged and not scenario.data_set}
        for name in names:
            if not is_scenario_file(name, folder):
                continue
            content = self._read(name) or b""
            if name in known and files[name] == content:
                scenarios.append(known[name])
                continue
            try:
                suite = load_suite({**data, name: content}, metric_problems, validate_rule, timezone=timezone)
            except (SuiteError, InfrastructureError):
                unusable.append(name)
                continue
            scenarios += suite.scenarios
            data_sets += suite.data_sets
        suite = Suite(tuple(scenarios), "", tuple(data_sets))
        if configuration is not None and configuration.tests:
            root, reading = parse_folder(configuration.system.root), TestFiles(self._names, self._read)
            found = find_tests(configuration.tests, root, reading, self.settings.config)
            suite, _ = with_tests(suite, found)
            unusable += [problem.path for problem in found.problems]
        return suite, tuple(unusable)

    def grades(self) -> dict[str, JudgeRecording]:
        """The judge answers of every recording that the change edits, moves or removes, by their key.

        Raises:
            InfrastructureError: they cannot be read from this clone.
        """
        scores: dict[str, JudgeRecording] = {}
        for name in self.edited_recordings():
            scores |= {line.key: line for line in self._lines(name) if isinstance(line, JudgeRecording)}
        return scores

    def edited_recordings(self) -> tuple[str, ...]:
        """Paths of the recordings that the change touches in more than what a scenario was seen to read."""
        folder = PurePosixPath(self.settings.scenarios) / "recordings"
        touched = (path for path in self.change.files.paths if PurePosixPath(path).is_relative_to(folder))
        return tuple(path for path in touched if not self._same_answers(path))

    def _same_answers(self, path: str) -> bool:
        try:
            base, head = (without_reads(self.contents.read(side, path)) for side in ("base", "head"))
        except InfrastructureError:
            return False
        return base == head

    def recordings(self, scenario_id: str) -> tuple[Recording, ...]:
        """The recordings of a scenario; none where it has no file.

        Raises:
            SuiteError: the file has mistakes.
            InfrastructureError: it cannot be read from this clone.
        """
        name = f"{self.settings.scenarios}/recordings/{scenario_id}.jsonl"
        content = self._read(name)
        return tuple(parse_recordings(content, name)) if content is not None else ()

    def _lines(self, name: str) -> Sequence[Recording]:
        content = self._read(name)
        try:
            return parse_recordings(content, name) if content is not None else ()
        except SuiteError:
            return ()

    def _read(self, name: str) -> bytes | None:
        return self.contents.read("base", name) if self.change.files.base is not None else None

    def _names(self, folder: str) -> Sequence[str]:
        return self.contents.names("base", "" if folder == "." else f"{folder}/")


NO_COMMON_SCENARIO = "no scenario of this change is also on the base"


@dataclass(frozen=True, slots=True)
class NoBase:
    """Why no scenario can be run on the base, known before anything of the change runs.

    Args:
        failed: there is a base that should be measured, so that a run which is not compared otherwise never passes.
            Otherwise there is nothing to compare with.
    """

    reason: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class BaseInputs:
    """What the base's scenarios would run with.

    Args:
        commit: full id of the merge base.
        configuration: the run's own, with the base's system and rows: all else is the same on both arms.
        scenarios: ids of those that the base runs as the change has them; a score of any other cannot be compared.
        recordings: of these, as in the base commit.
    """

    commit: str
    configuration: Configuration
    scenarios: frozenset[str]
    recordings: Mapping[str, tuple[Recording, ...]]


def read_base_inputs(
    base: BaseCommit,
    applied: Configuration,
    own: Configuration | None,
    alike: frozenset[str],
) -> BaseInputs | NoBase:
    """What a base arm would run with, or why there can be none.

    Args:
        alike: ids of the scenarios that the base can run as they are here.
    """
    commit = base.change.files.base
    if base.change.git is None or commit is None:
        return _unknown(base.change)
    if own is None:
        return NoBase("the base has no configuration that can be used")
    refusal = _refusal(own, applied)
    if refusal is not None:
        return refusal
    if not alike:
        return NoBase(NO_COMMON_SCENARIO)
    configuration = applied.model_copy(update={"system": own.system, "rows": own.rows})
    try:
        return BaseInputs(commit, configuration, alike, {name: base.recordings(name) for name in sorted(alike)})
    except RatibaError as error:
        return NoBase(f"the base's recordings cannot be read: {error}", failed=True)


def read_anchor_inputs(
    settings: Settings, change: Change, applied: Configuration, scenarios: Sequence[Scenario], commit: str
) -> BaseInputs | NoBase:
    """What an earlier version of the base branch would be run with beside today's, or why it cannot be.

    Args:
        settings: say where the files are.
        scenarios: that the earlier version measured as they are today.
        commit: full id of the earlier version.
    """
    then = replace(change, files=replace(change.files, base=commit))
    same = frozenset(scenario.id for scenario in scenarios)
    try:
        with Contents(change.git, commit, change.files.head) as contents:
            base = BaseCommit(settings, then, contents)
            return read_base_inputs(base, applied, base.configuration(), same)
    except InfrastructureError as error:
        return NoBase(f"the files of {short_commit(commit)} cannot be read: {error}", failed=True)


def _unknown(change: Change) -> NoBase:
    if change.unread:
        return NoBase(change.files.doubt or "git could not be run", failed=True)
    return NoBase("the base of this change is not in this clone")


def _refusal(own: Configuration, applied: Configuration) -> NoBase | None:
    if own.system.runs_elsewhere or applied.system.runs_elsewhere:
        return NoBase("the system runs elsewhere, where only one version of it can be asked")
    if own.system.has_database != applied.system.has_database:
        # One line of the change does it, and nobody has to confirm that.
        return NoBase("only one of both sides has a database (system.database)", failed=True)
    return None


def fetch_base(change: Change, commit: str, scratch: Path) -> Path:
    """Write the base's files below the run's own folder; it is removed with it.

    Args:
        commit: full id of the base.

    Raises:
        InfrastructureError: they are not in this clone or cannot be written.
    """
    if change.git is None:
        raise InfrastructureError("The base cannot be fetched: there is no repository.")
    folder = scratch / "base"
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise InfrastructureError(f"The base cannot be written to {str(folder)!r}: {error}.") from error
    export_commit(change.git, commit, folder)
    return folder


_LARGEST = 2_000_000_000
"""Bytes of all files together."""
_LARGE_FILE_POINTER = b"version https://git-lfs.github.com/spec/"


def export_commit(git: Git, commit: str, folder: Path, *, under: str = "", pointers: bool = False) -> None:
    """Write every file of a commit below a folder.

    Symbolic links that lead out of the folder are left out, and so are submodules whose commit is not checked out. A
    file that is kept in Git LFS is written as the checkout has it, where it is the same there.

    Args:
        git: the repository; a shallow clone will do if it holds the commit with its files.
        commit: full id.
        folder: empty, and ours alone.
        under: a folder of the commit, of which alone the files are written; empty for all.
        pointers: of a file that is kept in Git LFS, write what the commit itself holds instead of raising.

    Raises:
        InfrastructureError: files of the commit are not in this clone, are kept in Git LFS and others in the checkout,
            or cannot be written.
    """
    tree = git.tree(commit, under)
    for path in (path for path, entry in tree.items() if entry.mode == SUBMODULE):
        _export_submodule(git, path, tree[path].id, folder)
    entries = [(path, entry) for path, entry in tree.items() if entry.mode != SUBMODULE]
    entries.sort(key=lambda pair: pair[1].mode == LINK)  # last, so that nothing is written through one
    left = _LARGEST
    try:
        with git.blobs() as blobs:
            for path, entry in entries:
                if ".." in PurePosixPath(path).parts or path.startswith("/"):
                    raise InfrastructureError(f"The commit {commit} holds a file that leads out of it: {path[:200]!r}.")
                content = blobs.read(entry.id, left)
                if content is None:
                    raise InfrastructureError(
                        f"The file {path[:200]!r} of {commit} is not in this clone.", git.remedy()
                    )
                if content.startswith(_LARGE_FILE_POINTER) and not pointers:
                    content = as_checked_out(git.root, path, content, left)
                    if content is None:
                        raise InfrastructureError(f"The file {path[:200]!r} of {commit} is kept in Git LFS.")
                left -= len(content)
                _write(folder, path, entry.mode, content)
        _remove_links_out(folder, [path for path, entry in entries if entry.mode == LINK])
    except OSError as error:
        raise InfrastructureError(f"The files of {commit} cannot be written: {error}.") from error


def _export_submodule(git: Git, path: str, commit: str, folder: Path) -> None:
    """Write the files of a submodule at the commit that is wanted of it, where its own repository has that."""
    place = git.root / path
    if ".." in PurePosixPath(path).parts or path.startswith("/") or not os.path.lexists(place / ".git"):
        return
    own = git.submodule(place)
    if own.commit(commit) is not None:
        (folder / path).mkdir(parents=True, exist_ok=True)
        export_commit(own, commit, folder / path)


def _remove_links_out(folder: Path, names: Iterable[str]) -> None:
    """Remove links that lead out by way of another link: ``d/out -> up/../../etc``, where ``d/up`` is ``..``."""
    top = os.path.realpath(folder)
    for name in names:
        path = _path(folder, name)
        if not Path(os.path.realpath(path)).is_relative_to(top):
            path.unlink(missing_ok=True)


def _path(folder: Path, name: str) -> Path:
    return folder / os.fsdecode(name.encode("utf-8", "surrogateescape"))


def _write(folder: Path, name: str, mode: str, content: bytes) -> None:
    path = _path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode == LINK:
        goal = os.fsdecode(content)
        inside = os.path.normpath(Path(name).parent / goal)
        if not goal.startswith("/") and inside.split("/")[0] != "..":
            path.symlink_to(goal)
        return
    path.write_bytes(content)
    path.chmod(0o755 if mode == EXECUTABLE else 0o644)
