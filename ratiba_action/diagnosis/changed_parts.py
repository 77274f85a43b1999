"""The parts of a change to the system's files, and the base's files with some of them."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ratiba_action.diagnosis.delta_debugging import Part, Subset, apply_parts, split
from ratiba_action.errors import InfrastructureError
from ratiba_action.llm.recordings.folder import recording_path
from ratiba_action.llm.recordings.lines import ModelRecording, Recording
from ratiba_action.llm.recordings.reader import read_recordings
from ratiba_action.llm.recordings.writer import write_recordings
from ratiba_action.model.scenario import Scenario
from ratiba_action.run.arms import alone, edited_prompts
from ratiba_action.run.base_commit import BaseInputs
from ratiba_action.run.earlier_runs import NONE
from ratiba_action.run.inputs import RunInputs
from ratiba_action.run.own_history import with_statistical
from ratiba_action.util.locked_folder import is_file, is_folder, read_plain_file

_MAX_BYTES = 256 << 20  # of a file; what is larger is not looked into
_MAX_LINES = 40
"""Parts up to which each changed line of a prompt is one: neighbouring lines of a prompt are read one by one."""


def parts_of(inputs: RunInputs, base: Path) -> tuple[Part, ...]:
    """The parts of the change to the system's files, in order of path and line.

    A run of changed lines is one part; of a prompt each line is, unless that makes too many.
    """
    system, changed = inputs.configuration.system, inputs.decided.change.files.paths
    prompts = edited_prompts(inputs.repository, system.root, system.prompt_patterns, changed)
    by_line = tuple(_parts(inputs, base, frozenset(prompts)))
    return by_line if len(by_line) <= _MAX_LINES else tuple(_parts(inputs, base, frozenset()))


def _parts(inputs: RunInputs, base: Path, by_line: frozenset[str]) -> Iterator[Part]:
    root = PurePosixPath(inputs.configuration.system.root)
    apart = (PurePosixPath(inputs.settings.scenarios), PurePosixPath(inputs.settings.config))
    for name in sorted(inputs.decided.change.files.paths):
        path = PurePosixPath(name)
        if path.is_relative_to(root) and not any(path.is_relative_to(other) for other in apart):
            contents = _content(base, name), _content(inputs.repository, name)
            yield from split(name, *contents, by_line=name in by_line)


def _content(folder: Path, name: str) -> bytes | None:
    """The content of a file of one side; None where it has none.

    A folder of the other side's path may be a link on this one: to the checkout's ``.git``, or to any other file that
    the gate can read and the system cannot.
    """
    try:
        return read_plain_file(folder, name, _MAX_BYTES) if _is_plain(folder, name) else None
    except OSError as error:
        raise InfrastructureError(f"The file {name!r} of the change cannot be read: {error.strerror}.") from error


def _is_plain(folder: Path, name: str) -> bool:
    path = Path(os.path.realpath(folder), name)
    return os.path.realpath(path) == str(path) and is_file(path)


def count_of_code(inputs: RunInputs, parts: Sequence[Part]) -> int:
    """How many parts are of files that are no prompts."""
    prompts = prompts_among(inputs, parts)
    return sum(part.path not in prompts for part in parts)


def prompts_among(inputs: RunInputs, parts: Sequence[Part]) -> frozenset[str]:
    """The paths of parts that are of prompts."""
    system = inputs.configuration.system
    paths = [part.path for part in parts]
    return frozenset(edited_prompts(inputs.repository, system.root, system.prompt_patterns, paths))


@dataclass(frozen=True, slots=True)
class PartialTrees:
    """Writes the base's files with parts of the change, and the scenarios of the run.

    Args:
        scratch: where the combinations are written.
        scenarios: those that are explained, by id, as their failures were judged.
    """

    inputs: RunInputs
    base: BaseInputs
    parts: Sequence[Part]
    folder: Path
    scratch: Path
    scenarios: Mapping[str, Scenario]

    @contextlib.contextmanager
    def written(self, name: str, subset: Subset) -> Iterator[RunInputs | None]:
        """The run on a combination, within; None where its parts do not fit together."""
        tree = self.scratch / name
        try:
            yield self._partial(tree) if self._build(tree, subset) else None
        finally:
            shutil.rmtree(tree, ignore_errors=True)

    def _build(self, tree: Path, subset: Subset) -> bool:
        try:
            self._write(tree, subset)
        except (NotADirectoryError, IsADirectoryError, FileExistsError):  # one part makes a folder of another's file
            return False
        return True

    def _write(self, tree: Path, subset: Subset) -> None:
        # Copies, not links: what a system writes into its own files must not reach the next combination.
        shutil.copytree(self.folder, tree, symlinks=True)
        chosen: dict[str, list[Part]] = {}
        for number in sorted(subset):
            chosen.setdefault(self.parts[number].path, []).append(self.parts[number])
        for name, parts in chosen.items():
            path = tree / name
            content = apply_parts(_content(self.folder, name), parts)
            path.unlink(missing_ok=True)
            if content is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                side = self.inputs.repository if _is_plain(self.inputs.repository, name) else self.folder
                path.chmod((side / name).stat().st_mode & 0o777)
        scenarios = tree / self.inputs.settings.scenarios
        copy_scenarios(self.inputs.repository, self.inputs.settings.scenarios, scenarios)
        for name in self.scenarios:
            recorded = read_recordings(recording_path(self.inputs.recordings, name))
            if lines := _joined(recorded, self.base.recordings.get(name, ())):
                write_recordings(recording_path(scenarios / "recordings", name), lines)

    def _partial(self, tree: Path) -> RunInputs:
        """This run on other files, without a base of its own; no score of an earlier run is used."""
        decided = self.inputs.decided
        scenarios = [
            with_statistical(scenario, self.scenarios[scenario.id].strategy.statistical)
            for scenario in self.inputs.suite.scenarios
            if scenario.id in self.scenarios
        ]
        return replace(
            alone(self.inputs, scenarios),
            repository=tree,
            decided=replace(decided, change=decided.change.without_base),
            settings=replace(self.inputs.settings, baseline=NONE, llm=self.inputs.llm),
            resume=False,
            sealed=None,
            cache=False,
        )


def copy_scenarios(repository: Path, name: str, target: Path) -> None:
    """Replace a folder of scenarios by that of a checkout; a run of tests alone has none.

    What lies behind a link is not copied: it may be the checkout's own ``.git``, and the system reads the copy.

    Args:
        repository: root of the checkout.
        name: the folder's path in it.
    """
    shutil.rmtree(target, ignore_errors=True)
    source = Path(os.path.realpath(repository), os.path.normpath(name))
    if os.path.realpath(source) == str(source) and is_folder(source):
        shutil.copytree(source, target, symlinks=True)


def _joined(head: Sequence[Recording], base: Sequence[Recording]) -> tuple[Recording, ...]:
    """The recordings of both sides; where both recorded a request, the head's."""
    known = {_identity(line) for line in head}
    return (*head, *(line for line in base if _identity(line) not in known))


def _identity(line: Recording) -> tuple[str, str, int, int]:
    kind, trial = ("model", line.trial) if isinstance(line, ModelRecording) else ("judge", 0)
    return kind, line.key, line.ordinal, trial
