"""What a run is given, known before anything is started: what was asked for, and what was read for it."""

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.checks.failure_rules import may_call_judge
from ratiba_action.config.configuration import Configuration
from ratiba_action.decide.deciding import Decided
from ratiba_action.llm.recordings.lines import JudgeRecording, Recording
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.note import AlertKind
from ratiba_action.model.plan import Arm, Plan, Selection, Trial
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.money.sealed_journal import SealedPlace
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.ports import EventLog, Progress
from ratiba_action.run.base_commit import BaseInputs, NoBase
from ratiba_action.run.edited_scenarios import EditedScenarios
from ratiba_action.run.judging_base import JudgingCode
from ratiba_action.run.provider_keys import keys_of, source_of_answers
from ratiba_action.settings.settings import Settings
from ratiba_action.util.http_exchange import Outage
from ratiba_action.verdict.pairing import ContentDigests
from ratiba_action.verdict.quarantine import quarantine_in_force

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ratiba_action.history.run_history import RunHistory
    from ratiba_action.systems.judging_launch import JudgingControl
    from ratiba_action.systems.worker_system import WorkerSystem

DEFAULT_CONCURRENCY = 4


def needs_judge(scenario: Scenario) -> bool:
    """Whether a scenario is measured by a judged metric, or is a test, which may use one."""
    return scenario.test is not None or any(is_judged(entry.metric, entry.parameters) for entry in scenario.assertions)


def may_need_judge(scenario: Scenario) -> bool:
    """Whether a judge may be called about a scenario, also where only a reply decides that."""
    return needs_judge(scenario) or any(map(may_call_judge, scenario.rules))


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the selected scenarios a person asked for; empty means all.

    Args:
        affected: only those of them whose outcome the change may alter.
    """

    scenarios: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    affected: bool = False

    def __bool__(self) -> bool:
        return bool(self.scenarios or self.tags)

    def admits(self, scenario: Scenario) -> bool:
        """Whether a scenario is asked for by its id, its case file's, its name in pytest or one of its tags."""
        node = scenario.test.node if scenario.test is not None else scenario.id
        named = bool({scenario.id, scenario.data_set, node} & set(self.scenarios))
        return not self or named or bool(scenario.tags & set(self.tags))


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept started between the runs of one watch, each of which is a fork of the watching process.

    Args:
        workers: fork servers of the system, of its rules and metrics, and of its tests.
        database: address of a server that was started for these runs; empty where there is none.
        missed: a byte of memory that the runs share with the watch; a run sets it that had to start a worker itself.
        judging: the commit whose rules and metrics judge, and the folder of its files; None where the checkout's do.
        judging_control: of what forks the processes that DeepEval runs in; None where nothing is judged.
    """

    workers: Sequence["WorkerSystem"]
    database: str
    missed: mmap
    judging: tuple[str, Path] | None = None
    judging_control: "JudgingControl | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What is asked of a run, before any of its files is read.

    Args:
        environment: the process's own; DeepEval's settings are written to it before it is loaded.
        concurrency: scenarios at once; None for what the configuration says.
        seconds: the run's deadline, None for none.
        resume: go on with a run that was killed, without paying again.
        cache: whether judges' scores of earlier runs may be used.
        variant: name of the system's variant that runs instead of it; empty for the system as it is.
        variants: every variant runs too, for comparison.
        dry_run: only show what would run.
        shard_reports: folders of the reports that are merged; empty for a run.
        trials: how often each scenario runs at least.
        started_at: the clock that quarantines are compared with.
        outage: what the run knows of GitHub; see ``GithubApi``.
        begun_judging: control of what forks the processes that DeepEval runs in, begun before the suite is read;
            None where it was not.
        journal: distinguishes the write-ahead journal from that of the repository's runs; empty for one of those.
    """

    settings: Settings
    decided: Decided
    repository: Path
    environment: MutableMapping[str, str]
    choice: Choice = Choice()
    concurrency: int | None = None
    seconds: float | None = None
    resume: bool = False
    cache: bool = True
    trials: int = 1
    variant: str = ""
    variants: bool = False
    dry_run: bool = False
    shard_reports: tuple[str, ...] = ()
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    kept: Kept | None = None
    begun_judging: "Future[JudgingControl] | None" = field(default=None, repr=False, compare=False)
    journal: str = ""
    outage: Outage = field(default_factory=Outage, repr=False, compare=False)

    @property
    def recordings(self) -> Path:
        """Folder of the recordings: a variant has its own, since it calls other models."""
        return self.repository / self.settings.scenarios / "recordings" / self.variant


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs(RunRequest):
    """What a run evaluates.

    Args:
        suite: every scenario of the repository, with the metrics of its language and its system type.
        base_scores: judge answers of the base, by key; they count where the change says otherwise.
        notes: what the change tried to relax.
        base: what the base's scenarios would be run with, or why they cannot be.
        edited: what the change leaves of the scenarios that it would be compared by.
        replaced: each setting by which the change tests another system than its base.
        unratcheted: files of the base that could not be used, so that the ratchet did not apply there.
        anchored: the base is an earlier version of the base branch, whose own run this is.
        from_base: names of the blocks that are the base branch's where the change says otherwise.
        sealed: where the sealed copy of the write-ahead journal is kept; None for none.
        history: earlier runs; None where neither a ledger nor the base's configuration names some.
        uncompared: why what the change sends to models could not be compared with the base; empty where it was.
    """

    configuration: Configuration
    suite: Suite
    selection: Selection
    base_scores: Mapping[str, JudgeRecording] = field(default_factory=dict)
    edited_recordings: int = 0
    notes: tuple[str, ...] = ()
    base: BaseInputs | NoBase = field(default_factory=lambda: NoBase("the base was not read"))
    edited: EditedScenarios = field(default_factory=EditedScenarios)
    replaced: tuple[str, ...] = ()
    unratcheted: tuple[str, ...] = ()
    from_base: tuple[str, ...] = ()
    anchored: bool = False
    sealed: SealedPlace | None = None
    digests: ContentDigests = field(default_factory=ContentDigests)
    judging: JudgingCode = field(default_factory=JudgingCode)
    uncompared: str = ""
    history: "RunHistory | None" = None

    @property
    def llm(self) -> Llm:
        """Where this run takes model answers from, after what the change edits and which keys there are."""
        return source_of_answers(self.settings, self.keys, self.edited_recordings)

    @property
    def keys(self) -> Mapping[str, str]:
        """The keys that this run may use, by provider; an empty text for one that needs none."""
        return keys_of(self.settings, self.configuration)

    @property
    def customers(self) -> Mapping[str, str]:
        """The full name of the customer of each scenario that runs."""
        return {scenario.id: scenario.customer.name for scenario in self.selection.scenarios}

    @property
    def at_once(self) -> int:
        """Scenarios at once."""
        return self.concurrency or self.configuration.suite.concurrency or DEFAULT_CONCURRENCY

    @property
    def seconds_allowed(self) -> float | None:
        """The shorter of the times that the person and the configuration allow; None for no limit."""
        allowed = (self.seconds, self.configuration.suite.timeout_seconds)
        return min((each for each in allowed if each is not None), default=None)


@dataclass(frozen=True, slots=True)
class ArmInputs:
    """What is evaluated on one side of a comparison.

    Args:
        configuration: the run's own, with the arm's system.
        recordings: by scenario id.
        prompt_versions: of the arm's prompt files, sorted.
        prompt_blobs: ``name@blob id`` of the same files, sorted.
        day: of the run, in UTC.
        edited_prompts: paths of the prompt files that the change under test edits.
        free: ids of scenarios for which no model is called: what is not recorded of them is not measured.
        traced: files below the system's root whose lines that run are noted, on both arms alike.
    """

    arm: Arm
    configuration: Configuration
    scenarios: Sequence[Scenario]
    recordings: Mapping[str, Sequence[Recording]] = field(default_factory=dict)
    prompt_versions: tuple[str, ...] = ()
    prompt_blobs: tuple[str, ...] = ()
    day: date = date.max
    edited_prompts: tuple[str, ...] = ()
    free: Collection[str] = ()
    traced: tuple[str, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether a judge may be called about any scenario."""
        return any(map(may_need_judge, self.scenarios))

    @property
    def plan(self) -> Plan:
        """Every trial of every scenario; those in quarantine come last, so that they take no money from the others."""
        ordered = sorted(self.scenarios, key=lambda scenario: quarantine_in_force(scenario, self.day) is not None)
        return Plan(
            tuple(
                Trial(scenario, self.arm, number) for scenario in ordered for number in range(scenario.strategy.trials)
            )
        )


class SilentProgress:
    """Implements ``Progress`` without output: something else reports what happens."""

    def started(self, total: int) -> None:
        """Do nothing."""

    def advanced(self, result: ScenarioResult) -> None:
        """Do nothing."""

    def finished(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class RunLog:
    """What a run says while it goes on.

    Args:
        events: where what happens is written down.
        warnings: what a reader should know and what does not change the verdict; notes of the report.
        alerts: which of them are sent; all until the configuration has been read.
        execution: id of the run in the ledger's database; empty where it is not written there.
        asked: called with each request to a model, of the system and of the simulated customer, before it is answered.
        answered: called with each of these requests and its answer, whether that was recorded or is live.
        end_journal: removes what nobody goes on with, once the report is written: until then, a killed run needs it.
            Called with whether the run was cancelled meanwhile.
        prepare_report: loads what the report needs; called in a thread once the first trial has ended, so that it takes
            no time at the end.
    """

    progress: Progress
    events: EventLog = field(default_factory=NoEvents)
    warnings: list[str] = field(default_factory=list)
    alerts: tuple[AlertKind, ...] = tuple(AlertKind)
    execution: str = ""
    end_journal: Callable[[bool], None] | None = None
    prepare_report: Callable[[], object] | None = None
    asked: Callable[[ModelRequest], None] | None = None
    answered: Callable[[ModelRequest, ModelAnswer], None] | None = None

    def note(self, warning: str) -> None:
        """Add a warning."""
        self.warnings.append(warning)
