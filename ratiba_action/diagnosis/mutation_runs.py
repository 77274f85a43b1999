"""Measures the suite: runs scenarios on the system with one small fault after another, and sees which they notice."""

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

from ratiba_action.diagnosis.changed_parts import parts_of
from ratiba_action.diagnosis.code_mutants import functions_of
from ratiba_action.diagnosis.mutants import Mutant, by_risk
from ratiba_action.diagnosis.mutated_files import MutatedFiles, mutated
from ratiba_action.diagnosis.mutation_score import Fate, MutantResult, Notice, judge_mutant
from ratiba_action.errors import ConfigurationError, InfrastructureError, UsageError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.canonical import digest
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult
from ratiba_action.model.plan import Arm
from ratiba_action.model.scenario import Scenario
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arms import alone, head_inputs, scratch_folder
from ratiba_action.run.base_commit import NoBase, fetch_base
from ratiba_action.run.cache_place import mutants_folder
from ratiba_action.run.composition import checkout_of
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.paid_run import journal_place
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import Measured, RunServices
from ratiba_action.run.session import OpenSession, RunSession
from ratiba_action.systems.scratch import copied_files
from ratiba_action.systems.worker_system import WorkerSystem
from ratiba_action.util.gitignore import PatternList
from ratiba_action.util.interruption import current
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, outcomes_of

_RESULTS = 3
"""Raised when a result comes to mean something else."""
_MIN_SECONDS, _FACTOR = 15.0, 10.0
"""Of a trial with a mutant: at least so many seconds, else so many times as long as without it."""


@dataclass(slots=True)
class Mutation:
    """What came of a run over mutants.

    Args:
        results: of those that were run, in that order.
        failing: scenarios that do not pass on the system as it is, so that they kill nothing.
        notes: files that were left out, and why.
        never_run: file, line and name of each function that no scenario runs, of files that some scenario runs.
        ended: why not all chosen mutants were run; empty where they were.
    """

    found: int
    chosen: int = 0
    results: list[MutantResult] = field(default_factory=list)
    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    never_run: tuple[tuple[str, int, str], ...] = ()
    ended: str = ""


def measure(
    inputs: RunInputs,
    files: MutatedFiles,
    log: RunLog,
    ledger: Ledger,
    *,
    open_session: OpenSession,
    maximum: int,
    progress: Callable[[str], None],
    fresh: bool = False,
) -> Mutation:
    """Run scenarios on mutants of the system; whatever is measured is kept, however the run ends.

    The working tree is not changed: the mutants are files of the copy that the system runs in. Code mutants are
    answered from recordings only. Prompt mutants call models where the run has a key, within its budget.

    Args:
        inputs: of the run, with the scenarios to use as its selection.
        progress: receives a line after each of them.
        fresh: run those again whose result is known from an earlier run of the same files.

    Raises:
        UsageError: answers are to be live or recorded only.
        ConfigurationError: the system is not one that runs in a worker.
    """
    began = alone(inputs, inputs.selection.scenarios)
    if began.llm in {Llm.LIVE, Llm.RECORD}:
        raise UsageError(
            f"Mutants are compared with recorded answers, and llm is {began.llm.value!r}.",
            "Use --llm replay, or --llm auto to call models for mutants of prompts.",
        )
    with scratch_folder() as scratch:
        changed = _changed_lines(inputs, scratch)
        head = head_inputs(began)
        head = replace(head, free=frozenset(scenario.id for scenario in head.scenarios))
        with contextlib.closing(KnownResults(began, fresh=fresh)) as known:
            running = _Mutants(
                began, head, files, changed, open_session=open_session, maximum=maximum, known=known, progress=progress
            )
            try:
                running.run(log, ledger, scratch)
            finally:
                if began.llm != Llm.REPLAY:  # nothing is resumed from it, and it holds what models said
                    journal_place(began, head).path.unlink(missing_ok=True)
    running.mutation.notes += tuple(map(str, log.warnings))
    return running.mutation


def _changed_lines(inputs: RunInputs, scratch: Path) -> frozenset[tuple[str, int]]:
    """Path and line of what the change edits; nothing where there is no base."""
    if isinstance(inputs.base, NoBase) or inputs.decided.change.git is None:
        return frozenset()
    try:
        parts = parts_of(inputs, fetch_base(inputs.decided.change, inputs.base.commit, scratch))
    except InfrastructureError:
        return frozenset()
    root = PurePosixPath(inputs.configuration.system.root)
    return frozenset(
        (PurePosixPath(part.path).relative_to(root).as_posix(), line)
        for part in parts
        for line in range(part.line, part.line + max(len(part.added), 1))
    )


class KnownResults:
    """Results of mutants on disk, so that a run goes on where an earlier one ended.

    They are used for exactly the same system, scenarios, recordings and configuration. Where they cannot be written,
    the run goes on without them.

    Args:
        fresh: forget what is there.
    """

    def __init__(self, inputs: RunInputs, *, fresh: bool) -> None:
        folder = mutants_folder(inputs.environment)
        self._path = folder / f"{digest(str(inputs.repository.resolve()))[:16]}.jsonl"
        self._key = _identity(inputs)
        self._found = {} if fresh else self._read()
        self._file: TextIO | None = None
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = self._path.open("w", encoding="utf-8")
        for name, (fate, killers) in self._found.items():
            self._write(name, fate, killers)

    def _read(self) -> dict[str, tuple[Fate, tuple[str, ...]]]:
        found: dict[str, tuple[Fate, tuple[str, ...]]] = {}
        with contextlib.suppress(OSError, ValueError):
            for line in self._path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError):  # the last line of a run that was killed
                    entry: dict[str, Any] = json.loads(line)
                    if entry["key"] == self._key:
                        found[str(entry["mutant"])] = Fate(entry["fate"]), tuple(map(str, entry["killed_by"]))
        return found

    def get(self, mutant: Mutant) -> MutantResult | None:
        """The result of a mutant; None where it is not known."""
        known = self._found.get(mutant.name)
        return None if known is None else MutantResult(mutant, *known)

    def keep(self, result: MutantResult) -> None:
        """Write a result down, unless a further run could tell more."""
        if result.fate is not Fate.NOT_MEASURED:
            self._write(result.mutant.name, result.fate, result.killed_by)

    def _write(self, name: str, fate: Fate, killers: Sequence[str]) -> None:
        entry = {"key": self._key, "mutant": name, "fate": fate.value, "killed_by": list(killers)}
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.write(json.dumps(entry) + "\n")
                self._file.flush()

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.close()


def _identity(inputs: RunInputs) -> str:
    """Digest of everything that a mutant's result depends on, the meaning of the results among it."""
    root = inputs.repository / inputs.configuration.system.root
    copied = copied_files(root, checkout_of(inputs, inputs.decided.change.files.head))
    return digest(
        {
            "results": _RESULTS,
            "files": {name: digest((root / name).read_bytes().hex()) for name in copied},
            "suite": inputs.suite.digest,
            "scenarios": [scenario.id for scenario in inputs.selection.scenarios],
            "recordings": {
                path.name: digest(path.read_bytes().hex()) for path in sorted(inputs.recordings.glob("*.jsonl"))
            },
            "configuration": inputs.configuration.model_dump(mode="json"),
            "llm": inputs.llm.value,
        }
    )


_Outputs = Sequence[object]


class _Mutants:
    """Runs mutants one after the other in one copy of the system.

    Args:
        inputs: of the run, without a base.
        head: what is evaluated of the system as it is; none of its scenarios calls a model.
        changed: path and line of what the change edits.
    """

    def __init__(
        self,
        inputs: RunInputs,
        head: ArmInputs,
        files: MutatedFiles,
        changed: frozenset[tuple[str, int]],
        *,
        open_session: OpenSession,
        maximum: int,
        known: KnownResults,
        progress: Callable[[str], None],
    ) -> None:
        self._inputs, self._head, self._files, self._changed = inputs, head, files, changed
        self._open_session, self._maximum, self._known, self._progress = open_session, maximum, known, progress
        self._lines: Mapping[str, Mapping[str, frozenset[int]]] = {}
        self._outputs: dict[tuple[str, int], _Outputs] = {}
        self._passing: dict[str, Scenario] = {}
        self._writes = 0
        self._last = ""
        self.mutation = Mutation(len(files.mutants), notes=files.notes)

    def run(self, log: RunLog, ledger: Ledger, scratch: Path) -> None:
        """Run the system as it is, then mutants."""
        session = self._open_session(self._inputs, self._head, ledger=ledger, log=log, scratch=scratch)
        session.conduct(self._run_in)
        if session.interruptions:
            self.mutation.ended = session.interruptions[0]

    async def _run_in(self, session: RunSession) -> None:
        system = session.services.arms[self._head.arm.name].system
        if not isinstance(system, WorkerSystem):
            raise ConfigurationError("Replies that were captured earlier have no mutants.", "Give an adapter.")
        at_once = min(session.services.concurrency, max(os.cpu_count() or 1, 2))
        services = replace(session.services, concurrency=at_once)
        await self._run_as_it_is(services, system)
        for mutant in () if self._ends(session) else self._chosen():
            if self._ends(session):
                break
            await self._run_mutant(mutant, services, system)
        await session.finish(Measured())

    def _ends(self, session: RunSession) -> bool:
        if current().name is not None:
            self.mutation.ended = current().reason or ""
        elif session.late:
            self.mutation.ended = "the deadline was reached"
        return bool(self.mutation.ended)

    async def _run_as_it_is(self, services: RunServices, system: WorkerSystem) -> None:
        """What passes without a mutant, what it answers, and which lines it runs."""
        for name in self._files.texts:
            self._put(system, name, self._files.texts[name])
        system.trace(on=True)
        results = await run_plan(self._head.plan, services)
        self._lines = dict(system.executed)
        system.trace(on=False)
        for outcome in outcomes_of(results):
            if outcome.standing is Standing.PASSED:
                seconds = max(result.seconds for result in outcome.trials if not isinstance(result, NotRun))
                self._passing[outcome.scenario.id] = _with_time(outcome.scenario, seconds)
                self._outputs |= {_place(result): _outputs(result) for result in outcome.trials}
        self.mutation.never_run = self._never_run()
        self.mutation.passing = tuple(sorted(self._passing))
        self.mutation.failing = tuple(
            sorted(scenario.id for scenario in self._head.scenarios if scenario.id not in self._passing)
        )

    def _never_run(self) -> tuple[tuple[str, int, str], ...]:
        found = list[tuple[str, int, str]]()
        for name, text in sorted(self._files.texts.items()):
            ran = frozenset[int]().union(*(lines.get(name, ()) for lines in self._lines.values()))
            if name.endswith(".py") and ran:
                unseen = ((line, function) for line, function, body in functions_of(text) if body and not body & ran)
                found += ((name, line, function) for line, function in unseen)
        return tuple(found)

    def _put(self, system: WorkerSystem, name: str, text: str) -> None:
        system.replace_file(name, text, self._writes)
        self._writes += 1

    def _chosen(self) -> tuple[Mutant, ...]:
        """The mutants to run, those of the greatest risk first."""
        traced = {name for lines in self._lines.values() for name, found in lines.items() if found}
        mutants: Sequence[Mutant] = self._files.mutants
        if traced and not self._files.named:
            unused = sorted({name for name in self._files.texts if name.endswith(".py")} - traced)
            self.mutation.notes += tuple(f"{name}: no scenario runs it; left out" for name in unused)
            mutants = [mutant for mutant in mutants if mutant.path not in unused]
            self.mutation.found = len(mutants)
        if not self._passing:
            return ()
        ordered = by_risk(
            mutants, self._changed, lambda mutant: any(scenario.critical for scenario in self._who_could(mutant))
        )
        self.mutation.chosen = min(len(ordered), self._maximum)
        return ordered[: self._maximum]

    def _who_could(self, mutant: Mutant) -> list[Scenario]:
        """The scenarios that could notice a mutant, those that are quick and exact first.

        Of a file that was seen to run, those that run its lines; else those whose ``touches`` name the file, or all
        where none does.
        """
        if mutant.needed and any(lines.get(mutant.path) for lines in self._lines.values()):
            could = [
                scenario
                for name, scenario in self._passing.items()
                if name not in self._lines or self._runs(scenario, mutant)
            ]
        else:
            path = (PurePosixPath(self._inputs.configuration.system.root) / mutant.path).as_posix()
            every = [scenario for scenario in self._passing.values() if mutant.of_code or scenario.script is None]
            could = [scenario for scenario in every if _touches(scenario, path)] or every or [*self._passing.values()]

        def rank(scenario: Scenario) -> tuple[bool, bool, int, str]:
            lines = len(self._lines.get(scenario.id, {}).get(mutant.path, ()))
            return scenario.script is None, not scenario.critical, -lines, scenario.id

        return sorted(could, key=rank)

    async def _run_mutant(self, mutant: Mutant, services: RunServices, system: WorkerSystem) -> None:
        result = self._known.get(mutant)
        if result is None:
            result = await self._measured(mutant, services, system)
            if current().name is not None and result.fate is not Fate.KILLED:
                return
            self._known.keep(result)
        self.mutation.results.append(result)
        killers = f" by {', '.join(result.killed_by)}" if result.killed_by else ""
        place = f"{mutant.path}:{mutant.line} {mutant.operator.value}"
        number = f"{len(self.mutation.results)} of {self.mutation.chosen}"
        self._progress(f"{number}: {place}: {result.fate.value.replace('_', ' ')}{killers}")

    async def _measured(self, mutant: Mutant, services: RunServices, system: WorkerSystem) -> MutantResult:
        scenarios = self._who_could(mutant)
        if not scenarios:
            return judge_mutant(mutant, {})
        arm = self._arm(mutant, scenarios)
        services.arms.add(arm)
        if self._last and self._last != mutant.path:
            self._put(system, self._last, self._files.texts[self._last])
        self._put(system, mutant.path, mutated(mutant, self._files.texts[mutant.path]))
        self._last = mutant.path
        enough = partial(_Enough, self._notice, self._enough(mutant))
        try:
            results = await run_plan(arm.plan, replace(services, stop_rule=enough))
        finally:
            services.arms.remove(arm.arm.name)
        notices = {outcome.scenario.id: self._notice(outcome) for outcome in outcomes_of(results)}
        live = any(not each.replayed and each.calls for result in results for each in _exchanges(result))
        # Where it is not known whether a scenario ran the lines, nothing is taken for equivalent.
        ran = any(self._runs(scenario, mutant) for scenario in scenarios)
        return judge_mutant(replace(mutant, differs=(mutant.differs and ran) or live), notices)

    def _runs(self, scenario: Scenario, mutant: Mutant) -> bool:
        lines = self._lines.get(scenario.id, {}).get(mutant.path, frozenset())
        return not lines.isdisjoint(mutant.needed)

    def _arm(self, mutant: Mutant, scenarios: Sequence[Scenario]) -> ArmInputs:
        """The system with a mutant: what it asks models is answered as without it, or live for a prompt."""
        name = f"mutant-{self._files.mutants.index(mutant)}"
        ids = [scenario.id for scenario in scenarios]
        return replace(
            self._head,
            arm=Arm(name, self._head.arm.root, self._head.arm.commit),
            scenarios=scenarios,
            recordings={each: self._head.recordings[each] for each in ids if each in self._head.recordings},
            free=frozenset(ids) if mutant.of_code else frozenset(),
        )

    def _enough(self, mutant: Mutant) -> frozenset[Notice]:
        """No further scenario is run once one has killed it, or once it is known that a prompt needs a model."""
        of_prompt = not mutant.of_code and self._inputs.llm is not Llm.AUTO
        return frozenset({Notice.FAILED, Notice.NEEDS_MODEL} if of_prompt else {Notice.FAILED})

    def _notice(self, outcome: ScenarioOutcome) -> Notice:
        result = outcome.deciding
        if outcome.standing in {Standing.FAILED, Standing.BELOW_THRESHOLD}:
            return Notice.FAILED
        if isinstance(result, Errored):
            return _OF_ERROR.get(result.phase, Notice.NOT_MEASURED)
        if isinstance(result, NotRun) or outcome.standing is not Standing.PASSED:
            return Notice.NOT_MEASURED
        same = all(_outputs(each) == self._outputs.get(_place(each)) for each in outcome.trials)
        return Notice.UNCHANGED if same else Notice.CHANGED


_OF_ERROR = {
    Phase.RECORDING: Notice.NEEDS_MODEL,
    # The system ends or hangs with the mutant and not without it, so that the gate is not green.
    Phase.SYSTEM: Notice.FAILED,
    Phase.TIMEOUT: Notice.FAILED,
}


class _Enough:
    """Whether what the scenarios of a mutant showed is enough to run no further one.

    Args:
        enough: notices after which nothing more is learned.
    """

    def __init__(self, notice: Callable[[ScenarioOutcome], Notice], enough: frozenset[Notice]) -> None:
        self._notice, self._enough = notice, enough
        self._trials: dict[str, list[ScenarioResult]] = {}
        self.reason = ""

    def add(self, result: ScenarioResult) -> None:
        """Take the next result into account."""
        trials = self._trials.setdefault(result.trial.scenario.id, [])
        trials.append(result)
        if any(self._notice(outcome) in self._enough for outcome in outcomes_of(trials)):
            self.reason = "enough is known"


def _touches(scenario: Scenario, path: str) -> bool:
    try:
        return bool(scenario.touches) and PatternList(scenario.touches).match(path) is not None
    except ValueError:
        return True


def _with_time(scenario: Scenario, seconds: float) -> Scenario:
    """The scenario, once, and with little more time than it takes without a mutant: one may never end."""
    allowed, own = max(_MIN_SECONDS, seconds * _FACTOR), scenario.strategy.timeout_seconds
    limit = allowed if own is None else min(own, allowed)
    return replace(scenario, strategy=replace(scenario.strategy, timeout_seconds=limit, retries=0))


def _place(result: ScenarioResult) -> tuple[str, int]:
    return result.trial.scenario.id, result.trial.number


def _exchanges(result: ScenarioResult) -> Sequence[Any]:
    transcript = None if isinstance(result, NotRun) else result.transcript
    return () if transcript is None else transcript.exchanges


def _outputs(result: ScenarioResult) -> _Outputs:
    """What a trial answered and left in the database, without times and costs."""
    transcript = None if isinstance(result, NotRun) else result.transcript
    if transcript is None:
        return ()
    return ([exchange.reply for exchange in transcript.exchanges], transcript.rows)
