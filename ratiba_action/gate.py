"""The straight line: decision → inputs → plan → results → verdict → report."""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ratiba_action.answering import Aftermath
from ratiba_action.cancellation import cancelled_by_signals
from ratiba_action.composition import open_run
from ratiba_action.core.budget import Ledger
from ratiba_action.core.decision import next_step
from ratiba_action.core.model.conversation import Party
from ratiba_action.core.model.measurement import NotRun, ScenarioResult, Scored
from ratiba_action.core.model.plan import Arm, Plan, Selection
from ratiba_action.core.model.scenario import Scenario
from ratiba_action.core.model.verdict import Conclusion, Evidence, Limits, Report, Spending, Verdict
from ratiba_action.core.scenario_selection import select
from ratiba_action.deciding import Decided
from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.evaluation_inputs import EvaluationInputs, read_inputs
from ratiba_action.locked_folder import make_locked_folder, sweep_folders
from ratiba_action.paying import cache_folder, journal_place, payment_of, require_key, source_of_answers
from ratiba_action.ports import Progress
from ratiba_action.prompt_versions import prompt_versions
from ratiba_action.recordings.folder import read_folder
from ratiba_action.recordings.lines import JudgeRecording, Recording
from ratiba_action.runner import run_plan
from ratiba_action.settings import LIVE, Settings
from ratiba_action.workshop import Materials, Workshop

_SCRATCH = "ratiba-run-"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the selected scenarios a person asked for; empty means all."""

    scenarios: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.scenarios or self.tags)

    def admits(self, scenario: Scenario) -> bool:
        """Whether a scenario is asked for by its id or one of its tags."""
        return not self or scenario.id in self.scenarios or bool(scenario.tags & set(self.tags))


@dataclass(frozen=True, slots=True)
class GateRun:
    """One run of the gate.

    Args:
        environment: the process's own.
        concurrency: conversations at once.
        seconds: the run's deadline, None for none.
        resume: go on with a run that was killed, without paying again.
        cache: whether judges' scores of earlier runs may be used.
        trials: how often each scenario runs.
    """

    settings: Settings
    decided: Decided
    repository: Path
    environment: MutableMapping[str, str]
    progress: Progress
    choice: Choice = Choice()
    concurrency: int = 4
    seconds: float | None = None
    resume: bool = False
    cache: bool = True
    trials: int = 1
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What will run, known before anything is started."""

    inputs: EvaluationInputs
    selection: Selection


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came of a run.

    Args:
        recorded: new lines of each scenario, by its id; empty unless the run records.
    """

    report: Report
    recorded: Mapping[str, tuple[Recording, ...]]


def prepare(run: GateRun) -> Prepared:
    """Read what is evaluated and select what runs.

    Raises:
        ConfigurationError: files are wrong, or what a person asked for does not exist.
    """
    inputs = read_inputs(run.settings, run.repository, run.decided.change)
    _require_root(run.repository, inputs.configuration.system.root)
    if run.choice:
        chosen = tuple(scenario for scenario in inputs.suite.scenarios if run.choice.admits(scenario))
        _refuse_unknown(run.choice, inputs)
        left_out = tuple(scenario.id for scenario in inputs.suite.scenarios if scenario not in chosen)
        selection = Selection(run.decided.decision, chosen, left_out)
    else:
        selection = select(run.decided.decision, inputs.suite, run.decided.change.files)
    return Prepared(inputs, selection)


def _require_root(repository: Path, root: str) -> None:
    """The system lies in the repository, also when links are followed."""
    found, top = (repository / root).resolve(), repository.resolve()
    if not found.is_dir() or not found.is_relative_to(top) or ".git" in found.relative_to(top).parts:
        raise ConfigurationError(
            f"system.root is {root!r}, which is no folder inside the repository.", "Name the system's folder."
        )


def evaluate(run: GateRun, prepared: Prepared) -> Evaluated:
    """Run what is selected and decide; whatever is measured is reported, however the run ends.

    Raises:
        InfrastructureError: live answers are asked for, and there is no key.
    """
    require_key(run.settings)
    started, clock = datetime.now(UTC), time.monotonic()
    ledger = Ledger(run.settings.budget_usd)
    interruptions: list[str] = []
    ended, journal = _Ended(), None
    if prepared.selection.scenarios:
        with _scratch_folder() as scratch:
            materials = _materials(run, prepared)
            workshop = _workshop(run, prepared, ledger, scratch, materials)
            run.warnings.extend(_origin_of(materials, workshop.llm))
            ended = asyncio.run(_run(workshop, materials, interruptions))
            journal = workshop.payment.journal if workshop.payment is not None else None
    verdict = _verdict(run, prepared, ended, ledger, interruptions)
    if journal is not None and verdict.conclusion is not Conclusion.INCOMPLETE:
        # A run that has its verdict is not resumed, and its journal holds what models and customers said.
        journal.path.unlink(missing_ok=True)
    report = Report(
        name=run.settings.name,
        subject=run.decided.change.subject,
        decision=run.decided.decision,
        verdict=verdict,
        results=ended.results,
        spending=ledger.snapshot(),
        limits=_limits(prepared),
        started_at=started,
        seconds=time.monotonic() - clock,
        enforce=run.settings.enforce,
        llm=_llm(run.settings.llm, ledger.snapshot()),
        judge_model=prepared.inputs.configuration.judge.model,
        suite_digest=prepared.inputs.suite.digest,
        edited_recordings=prepared.inputs.edited_recordings,
        notes=(*prepared.inputs.notes, *_notes(run, prepared), *ledger.breaches),
        left_out=prepared.selection.left_out,
        cross_checking=ended.aftermath.cross_checking,
        shared_spending=ended.aftermath.shared_spending,
    )
    return Evaluated(report, ended.aftermath.recorded)


@dataclass(frozen=True, slots=True)
class _Ended:
    """What the conversations came to."""

    results: tuple[ScenarioResult, ...] = ()
    aftermath: Aftermath = field(default_factory=Aftermath)


def _limits(prepared: Prepared) -> Limits:
    return Limits(pass_rate=prepared.inputs.configuration.pass_rate)


def _verdict(run: GateRun, prepared: Prepared, ended: _Ended, ledger: Ledger, interruptions: Sequence[str]) -> Verdict:
    interruption = interruptions[0] if interruptions else None
    shortfall = _shortfall(run, prepared, ended, ledger)
    evidence = Evidence(run.decided.decision.mode, ended.results, _limits(prepared), interruption, shortfall)
    verdict = next_step(evidence)
    if isinstance(verdict, Plan):
        raise TypeError("next_step asked for another plan, which this form of the run does not carry out")
    return verdict


def _shortfall(run: GateRun, prepared: Prepared, ended: _Ended, ledger: Ledger) -> str:
    """What was asked for and not done: a cost that is known, or answers that are live."""
    declared = prepared.inputs.configuration.system.price_per_turn_usd is not None
    source = source_of_answers(run.settings, prepared.inputs.edited_recordings)
    if source == "replay" or declared or not any(isinstance(result, Scored) for result in ended.results):
        return ""
    if not any(call.party is Party.SYSTEM for call in ledger.calls):
        return (
            "The system asked no model through the gate, so what it cost is not known: let it ask its models through "
            "the gate, or declare system.price_per_turn_usd, 0 if it asks none."
        )
    if source in LIVE and not ledger.snapshot().live_calls:
        return f"No model was asked, though llm is {run.settings.llm!r}: nothing was measured live."
    return ""


def _llm(asked: str, spending: Spending) -> str:
    if asked == "record" or not spending.live_calls:
        return "record" if asked == "record" else "replay"
    return "mixed" if spending.replayed_calls else "live"


@contextlib.contextmanager
def _scratch_folder() -> Iterator[Path]:
    """A folder outside the workspace for one run; what crashed runs left there is removed first."""
    base = Path(tempfile.gettempdir())
    sweep_folders(base, _SCRATCH)
    folder = make_locked_folder(base, _SCRATCH)
    try:
        yield folder.path
    finally:
        folder.remove()


def _workshop(run: GateRun, prepared: Prepared, ledger: Ledger, scratch: Path, materials: Materials) -> Workshop:
    llm = source_of_answers(run.settings, prepared.inputs.edited_recordings)
    configuration = prepared.inputs.configuration
    evaluated = {
        "commit": run.decided.change.files.head or "",
        "suite": prepared.inputs.suite.digest,
        "scenarios": [scenario.id for scenario in materials.scenarios],
        "trials": materials.trials,
        "prompts": list(materials.prompt_versions),
        "llm": llm,
    }
    place = journal_place(
        run.repository, run.environment, resume=run.resume, configuration=configuration, evaluated=evaluated
    )
    live = llm != "replay"
    return Workshop(
        environment=run.environment,
        scratch=scratch,
        # A replayed grade costs nothing and an edited recording must show; what is recorded is asked for.
        cache=cache_folder(run.environment) if run.cache and llm in {"auto", "live"} else None,
        database_url=run.settings.database_url,
        configuration=configuration,
        ledger=ledger,
        progress=run.progress,
        warn=run.warnings.append,
        concurrency=run.concurrency,
        deadline=None if run.seconds is None else time.monotonic() + run.seconds,
        report_dir=run.settings.report_dir,
        llm=llm,
        payment=payment_of(run.settings, run.decided.change.subject, place) if live else None,
    )


def _materials(run: GateRun, prepared: Prepared) -> Materials:
    scenarios = prepared.selection.scenarios
    system = prepared.inputs.configuration.system
    folder = run.repository / run.settings.scenarios / "recordings"
    recordings = read_folder(folder, [one.id for one in scenarios])
    return Materials(
        arm=Arm("head", str(run.repository), run.decided.change.files.head),
        scenarios=scenarios,
        recordings={name: _held(lines, prepared.inputs.base_grades) for name, lines in recordings.items()},
        prompt_versions=prompt_versions(run.repository, system.root, system.prompts, run.environment),
        trials=run.trials,
    )


def _held(lines: Sequence[Recording], base: Mapping[str, JudgeRecording]) -> tuple[Recording, ...]:
    """A recording whose grades are the base's where it has them: a change does not grade itself."""
    return tuple(base.get(line.key, line) if isinstance(line, JudgeRecording) else line for line in lines)


def _origin_of(materials: Materials, llm: str) -> tuple[str, ...]:
    """Recordings that no model ever said are never presented as if one had."""
    if llm in LIVE:
        return ()
    sources = [line.source for lines in materials.recordings.values() for line in lines]
    authored = sources.count("authored")
    if not authored:
        return ()
    return (f"{authored} of {len(sources)} replayed answers were written by hand; no model said them.",)


async def _run(workshop: Workshop, materials: Materials, interruptions: list[str]) -> _Ended:
    with cancelled_by_signals(interruptions.append):
        try:
            async with open_run(workshop, materials) as opened:
                results = await run_plan(materials.plan, opened.bench)
                return _Ended(results, await opened.conclude())
        except asyncio.CancelledError:
            reason = "the run was cancelled before it began"
            return _Ended(tuple(NotRun(trial, reason) for trial in materials.plan.trials))


def _refuse_unknown(choice: Choice, inputs: EvaluationInputs) -> None:
    known = {scenario.id for scenario in inputs.suite.scenarios}
    tags = {tag for scenario in inputs.suite.scenarios for tag in scenario.tags}
    unknown = [f"scenario {name!r}" for name in choice.scenarios if name not in known]
    unknown += [f"tag {name!r}" for name in choice.tags if name not in tags]
    if unknown:
        raise UsageError(f"There is no {', no '.join(unknown)}.", f"Tags: {', '.join(sorted(tags))}.")


def _notes(run: GateRun, prepared: Prepared) -> tuple[str, ...]:
    notes = list(run.warnings)
    if run.choice:
        count, total = len(prepared.selection.scenarios), len(prepared.inputs.suite.scenarios)
        notes.append(f"Only {count} of {total} conversations were asked for.")
    return tuple(notes)
