"""Finds the lines of a change that make scenarios fail, by running those scenarios on the base with parts of it."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath

from ratiba_action.checks.system_exceptions import exception_of
from ratiba_action.errors import InfrastructureError, RatibaError
from ratiba_action.llm.recordings.folder import recording_path
from ratiba_action.llm.recordings.lines import ModelRecording, Recording
from ratiba_action.llm.recordings.reader import read_recordings
from ratiba_action.llm.recordings.writer import write_recordings
from ratiba_action.model.measurement import NotRun, ScenarioResult, Scored
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arms import alone, scratch_folder
from ratiba_action.run.base_commit import BaseInputs, fetch_base
from ratiba_action.run.gate import evaluate
from ratiba_action.run.inputs import RunInputs, RunLog
from ratiba_action.util.interruption import current
from ratiba_action.util.text import clip
from ratiba_action.verdict.attribution import Attribution, NoFurtherStepError, Outcome, Subset, attribute
from ratiba_action.verdict.trials import Standing, outcomes_of, standing

_TEXT = "utf-8"
_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Part:
    """A run of changed lines of one file, or a whole file that was added, removed or is no text.

    Args:
        line: of the file as the change has it, from 1, where the part begins.
        begin: position in the base's lines, from 0.
        removed: the base's lines.
        added: the change's lines.
        content: of the whole file as the change has it; None for a part of a text.
        whole: the part is a whole file; without content it was removed.
    """

    path: str
    line: int = 1
    begin: int = 0
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    content: bytes | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """What makes each failing scenario fail.

    Args:
        parts: of the change, in order of path and line.
        scenarios: the cause of each, by its id; positions are those of ``parts``.
        runs: how often the scenarios were run with parts of the change.
    """

    parts: tuple[Part, ...]
    scenarios: Mapping[str, Attribution]
    runs: int


def split(path: str, base: bytes | None, head: bytes | None) -> tuple[Part, ...]:
    """The parts of one file's change.

    Args:
        path: of the file.
        base: its content on the base; None where it has none.
        head: its content with the change; None where it has none.
    """
    if base == head:
        return ()
    try:
        before, after = ((content or b"").decode(_TEXT).splitlines(keepends=True) for content in (base, head))
    except UnicodeDecodeError:
        return (Part(path, content=head, whole=True),)
    if base is None or head is None:
        return (Part(path, content=head, removed=tuple(before), added=tuple(after), whole=True),)
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple(
        Part(path, j1 + 1, i1, tuple(before[i1:i2]), tuple(after[j1:j2]))
        for kind, i1, i2, j1, j2 in blocks
        if kind != "equal"
    )


def apply_parts(base: bytes | None, parts: Sequence[Part]) -> bytes | None:
    """A file's content with some parts of its change; None where it is then missing.

    Args:
        base: its content on the base; None where it has none.
        parts: of that file. They are applied from the last to the first, so that positions stay the base's.
    """
    whole = next((part for part in parts if part.whole), None)
    if whole is not None:
        return whole.content
    if base is None or not parts:
        return base
    lines = base.decode(_TEXT).splitlines(keepends=True)
    for part in sorted(parts, key=lambda part: part.begin, reverse=True):
        lines[part.begin : part.begin + len(part.removed)] = part.added
    return "".join(lines).encode(_TEXT)


def explain(
    inputs: RunInputs,
    failed: Sequence[ScenarioResult],
    log: RunLog,
    ledger: Ledger,
    *,
    most_runs: int,
    progress: Callable[[str], None],
) -> Explanation:
    """Find the parts of the change that make scenarios fail.

    Scenarios, recordings, judges and limits stay the run's own; only the files of the system under test go back to
    the base, part by part. Recorded answers of both sides are used: a request that neither recorded is a model call,
    paid from the ledger where the run has a key, and ``unresolved`` where it has none.

    Args:
        inputs: of a run that failed.
        failed: the results that decided; one for each scenario.
        log: of the run.
        ledger: of the run, with its budget.
        most_runs: with parts of the change.
        progress: receives a line after each of them.

    Raises:
        InfrastructureError: the base cannot be read, or nothing of the system differs from it.
    """
    base = inputs.base
    if isinstance(base, str):
        raise InfrastructureError(f"The change cannot be compared with its base: {base}.")
    with scratch_folder() as scratch:
        folder = fetch_base(inputs.decided.change, base.commit, scratch)
        parts = parts_of(inputs, folder)
        if not parts:
            raise InfrastructureError(
                "No file of the system under test differs from the base, so no line of it can be the cause.",
                "Compare the scenarios: git diff on the scenarios folder.",
            )
        trials = _PartialRuns(
            inputs=inputs,
            base=base,
            parts=parts,
            folder=folder,
            scratch=scratch,
            log=log,
            ledger=ledger,
            most_runs=most_runs,
            progress=progress,
            signatures={result.trial.scenario.id: signature(result) for result in failed},
        )
        scenarios = {
            result.trial.scenario.id: attribute(len(parts), trials.of(result.trial.scenario.id)) for result in failed
        }
        return Explanation(parts, scenarios, trials.runs)


def parts_of(inputs: RunInputs, base: Path) -> tuple[Part, ...]:
    """The parts of the change to the system's files, in order of path and line.

    Args:
        inputs: of the run.
        base: folder with the base's files.
    """
    return tuple(_parts(inputs, base))


def _parts(inputs: RunInputs, base: Path) -> Iterator[Part]:
    root = PurePosixPath(inputs.configuration.system.root)
    apart = (PurePosixPath(inputs.settings.scenarios), PurePosixPath(inputs.settings.config))
    for name in sorted(inputs.decided.change.files.paths):
        path = PurePosixPath(name)
        if path.is_relative_to(root) and not any(path.is_relative_to(other) for other in apart):
            yield from split(name, _content(base / name), _content(inputs.repository / name))


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def signature(result: ScenarioResult) -> frozenset[str]:
    """What failed in a trial, so that another failure of the same scenario is not taken for it."""
    if isinstance(result, NotRun):
        return frozenset()
    failed = {f"{check.kind} {check.turn} {check.what}" for check in result.checks if not check.passed}
    failed |= {score.metric for score in result.scores if not score.passed}
    raised = exception_of(result)
    return frozenset({*failed, *({raised.rpartition(" ")[2]} if raised else set())})


@dataclass(frozen=True, slots=True, kw_only=True)
class _PartialRuns:
    """Runs scenarios on the base with parts of the change, each combination once.

    Args:
        folder: with the base's files.
        scratch: where the combinations are written.
        signatures: what failed in each scenario.
    """

    inputs: RunInputs
    base: BaseInputs
    parts: Sequence[Part]
    folder: Path
    scratch: Path
    log: RunLog
    ledger: Ledger
    most_runs: int
    progress: Callable[[str], None]
    signatures: Mapping[str, frozenset[str]]
    known: dict[Subset, Mapping[str, Outcome]] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    @property
    def runs(self) -> int:
        """How many combinations were run."""
        return len(self.known)

    def of(self, scenario_id: str) -> Callable[[Subset], Outcome]:
        """The outcome of one scenario for a combination of parts."""
        return lambda subset: self._outcomes(subset).get(scenario_id, Outcome.UNRESOLVED)

    def _outcomes(self, subset: Subset) -> Mapping[str, Outcome]:
        if subset not in self.known:
            if len(self.known) >= self.most_runs:
                raise NoFurtherStepError(f"the limit of {self.most_runs} runs was reached")
            tree = self.scratch / f"parts-{len(self.known)}"
            try:
                self.known[subset] = self._run(tree) if self._build(tree, subset) else {}
                self.progress(_step(len(self.known), subset, len(self.parts), self.known[subset]))
            finally:
                shutil.rmtree(tree, ignore_errors=True)
        return self.known[subset]

    def _build(self, tree: Path, subset: Subset) -> bool:
        """Write the base's files with some parts, and this run's scenarios; False where the parts do not fit."""
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
            content = apply_parts(_content(self.folder / name), parts)
            path.unlink(missing_ok=True)
            if content is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                source = self.inputs.repository / name
                path.chmod((source if source.exists() else self.folder / name).stat().st_mode & 0o777)
        scenarios = tree / self.inputs.settings.scenarios
        shutil.rmtree(scenarios, ignore_errors=True)
        shutil.copytree(self.inputs.repository / self.inputs.settings.scenarios, scenarios, symlinks=True)
        for name in self.signatures:
            own = read_recordings(recording_path(self.inputs.recordings, name))
            if lines := _joined(own, self.base.recordings.get(name, ())):
                write_recordings(recording_path(scenarios / "recordings", name), lines)

    def _run(self, tree: Path) -> Mapping[str, Outcome]:
        if current().name is not None:
            raise NoFurtherStepError("the run was cancelled")
        seconds = self.inputs.seconds
        left = None if seconds is None else seconds - (time.monotonic() - self.began)
        if left is not None and left <= 0:
            raise NoFurtherStepError("the deadline was reached")
        try:
            report = evaluate(self._partial(tree, left), RunLog(self.log.progress), self.ledger).report
        except RatibaError as error:
            # Most often parts that do not fit together; the reader sees where it is something else.
            self.progress(f"could not be run: {clip(error.problem, _MESSAGE)}")
            return {}
        refused = [result for result in report.results if isinstance(result, NotRun)]
        if refused:
            raise NoFurtherStepError(refused[0].reason)
        deciding = {outcome.scenario.id: outcome.deciding for outcome in outcomes_of(report.results)}
        return {name: _outcome(result, self.signatures[name]) for name, result in deciding.items()}

    def _partial(self, tree: Path, seconds: float | None) -> RunInputs:
        """This run on other files, without a base of its own."""
        decided = self.inputs.decided
        scenarios = [scenario for scenario in self.inputs.suite.scenarios if scenario.id in self.signatures]
        # The repository stays known: what it keeps of credentials is hidden from the system here too.
        change = replace(decided.change, files=replace(decided.change.files, base=None, head=None))
        return replace(
            alone(self.inputs, scenarios),
            repository=tree,
            decided=replace(decided, change=change),
            seconds=seconds,
        )


def _step(number: int, subset: Subset, total: int, outcomes: Mapping[str, Outcome]) -> str:
    what = "the base" if not subset else f"{len(subset)} of {total} parts of the change"
    ended = ", ".join(f"{name} {outcome.value}" for name, outcome in sorted(outcomes.items()))
    return f"run {number}: {what}: {ended or 'could not be run'}"


def _joined(head: Sequence[Recording], base: Sequence[Recording]) -> tuple[Recording, ...]:
    """The recordings of both sides; where both recorded a request, the head's."""
    known = {_identity(line) for line in head}
    return (*head, *(line for line in base if _identity(line) not in known))


def _identity(line: Recording) -> tuple[str, str, int, int]:
    kind, trial = ("model", line.trial) if isinstance(line, ModelRecording) else ("judge", 0)
    return kind, line.key, line.ordinal, trial


def _outcome(result: ScenarioResult, wanted: frozenset[str]) -> Outcome:
    if isinstance(result, Scored) and standing(result) is Standing.PASSED:
        return Outcome.PASSES
    return Outcome.FAILS if signature(result) & wanted else Outcome.UNRESOLVED
