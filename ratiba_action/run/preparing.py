"""What a run evaluates, known before anything is started."""

import os
from collections.abc import Callable, Collection, MutableMapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ratiba_action.decide.deciding import Decided
from ratiba_action.errors import ConfigurationError, SuiteError, UsageError
from ratiba_action.llm.recordings.folder import recording_path
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording
from ratiba_action.llm.recordings.reader import read_recordings
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import Scenario
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.ports import EventLog, Progress
from ratiba_action.run.evaluation_inputs import EvaluationInputs, read_inputs
from ratiba_action.run.paying import source_of_answers
from ratiba_action.settings.settings import Settings
from ratiba_action.suite.scenario_selection import select, with_least_trials
from ratiba_action.util.text import did_you_mean

_SHOWN = 20
"""Most names that a message lists."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the selected scenarios a person asked for; empty means all."""

    scenarios: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.scenarios or self.tags)

    def admits(self, scenario: Scenario) -> bool:
        """Whether a scenario is asked for by its id, its data set's or one of its tags."""
        named = scenario.id in self.scenarios or scenario.data_set in self.scenarios
        return not self or named or bool(scenario.tags & set(self.tags))


@dataclass(frozen=True, slots=True)
class GateRun:
    """One run of the gate.

    Args:
        environment: the process's own.
        concurrency: scenarios at once; None for what the configuration says.
        seconds: the run's deadline, None for none.
        resume: go on with a run that was killed, without paying again.
        cache: whether judges' scores of earlier runs may be used.
        variant: name of the system's variant that runs in its place; empty for the system as it stands.
        trials: how often each scenario runs at least.
        started_at: the clock that quarantines are compared with.
        events: where what happens is written down.
    """

    settings: Settings
    decided: Decided
    repository: Path
    environment: MutableMapping[str, str]
    progress: Progress
    choice: Choice = Choice()
    concurrency: int | None = None
    seconds: float | None = None
    resume: bool = False
    cache: bool = True
    trials: int = 1
    variant: str = ""
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    warnings: list[str] = field(default_factory=list)
    events: EventLog = field(default_factory=NoEvents)

    @property
    def recordings(self) -> Path:
        """Folder of the recordings: a variant has its own, since it asks other models."""
        return self.repository / self.settings.scenarios / "recordings" / self.variant


@dataclass(frozen=True, slots=True)
class Prepared:
    """What will run, known before anything is started."""

    inputs: EvaluationInputs
    selection: Selection


def prepare(run: GateRun) -> Prepared:
    """Read what is evaluated and select what runs.

    Raises:
        ConfigurationError: files are wrong, or what a person asked for does not exist.
    """
    inputs = _of_variant(run.variant, read_inputs(run.settings, run.repository, run.decided.change))
    _require_root(run.repository, inputs.configuration.system.root)
    if run.choice:
        chosen = tuple(scenario for scenario in inputs.suite.scenarios if run.choice.admits(scenario))
        _refuse_unknown(run.choice, inputs)
        ids = {scenario.id for scenario in chosen}
        left_out = tuple(scenario.id for scenario in inputs.suite.scenarios if scenario.id not in ids)
        selection = Selection(run.decided.decision, chosen, left_out)
    else:
        selection = select(run.decided.decision, inputs.suite, run.decided.change.files, _is_free(run, inputs))
    scenarios = tuple(with_least_trials(scenario, run.trials) for scenario in selection.scenarios)
    return Prepared(inputs, replace(selection, scenarios=scenarios))


def _is_free(run: GateRun, inputs: EvaluationInputs) -> Callable[[Scenario], bool]:
    """Whether a scenario can run without calling any model, by the files of this checkout."""
    system = inputs.configuration.system
    asks_live = source_of_answers(run.settings, inputs.edited_recordings) not in {"replay", "auto"}

    def is_free(scenario: Scenario) -> bool:
        if asks_live or system.price_per_turn_usd:
            return False
        try:
            lines = read_recordings(recording_path(run.recordings, scenario.id))
        except SuiteError:
            return False
        silent = system.replay is not None or system.price_per_turn_usd is not None or scenario.script is not None
        trials = {line.trial for line in lines if isinstance(line, ModelRecording)}
        graded = {_identity(line.metric.partition(":")[0]) for line in lines if isinstance(line, JudgeRecording)}
        judged = {_identity(entry.metric) for entry in scenario.assertions if is_judged(entry.metric)}
        return (silent or trials >= set(range(scenario.strategy.trials))) and judged <= graded

    return is_free


def _identity(metric: str) -> str:
    return metric_version(metric, "")


def _of_variant(name: str, inputs: EvaluationInputs) -> EvaluationInputs:
    """What is evaluated, with the system's variant in its place."""
    if not name:
        return inputs
    system = inputs.configuration.system
    if name not in system.variants:
        raise UsageError(f"There is no variant {name!r} of the system.", _proposal("variant", name, system.variants))
    note = f"This run is of the variant {name}: {', '.join(system.variants[name].differences)}."
    configuration = inputs.configuration.model_copy(update={"system": system.as_variant(name)})
    return replace(inputs, configuration=configuration, notes=(*inputs.notes, note))


def _require_root(repository: Path, root: str) -> None:
    """The system lies in the repository, also when links are followed."""
    # Not Path.resolve: it raises RuntimeError where links lead in a circle.
    found, top = Path(os.path.realpath(repository / root)), repository.resolve()
    if not found.is_dir() or not found.is_relative_to(top) or ".git" in found.relative_to(top).parts:
        raise ConfigurationError(
            f"system.root is {root!r}, which is no folder inside the repository.", "Name the system's folder."
        )


def _refuse_unknown(choice: Choice, inputs: EvaluationInputs) -> None:
    known = {name for scenario in inputs.suite.scenarios for name in (scenario.id, scenario.data_set)} - {""}
    tags = {tag for scenario in inputs.suite.scenarios for tag in scenario.tags}
    unknown = [("scenario", name, known) for name in choice.scenarios if name not in known]
    unknown += [("tag", name, tags) for name in choice.tags if name not in tags]
    if unknown:
        told = f"There is no {', no '.join(f'{kind} {name!r}' for kind, name, _ in unknown)}."
        raise UsageError(told, " ".join(_proposal(*one) for one in unknown))


def _proposal(kind: str, name: str, known: Collection[str]) -> str:
    """The names that may be meant, or the first of those that there are."""
    near = did_you_mean(name, known)
    if near:
        return f"{near[0].upper()}{near[1:]}"
    shown = ", ".join(sorted(known)[:_SHOWN]) or "none"
    return f"The {kind}s are: {shown}{', …' if len(known) > _SHOWN else ''}."
