"""What a run works with, and what it works on."""

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from ratiba_action.config.configuration import Configuration
from ratiba_action.llm.recordings.lines import Recording
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.plan import Arm, Plan, Trial
from ratiba_action.model.scenario import Scenario
from ratiba_action.money.budget import Ledger
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.ports import EventLog, Progress
from ratiba_action.run.paid_run import Payment
from ratiba_action.util.git import Git
from ratiba_action.verdict.quarantine import quarantine_in_force


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a run works with.

    Args:
        environment: the process's own; DeepEval's settings are written to it before it is loaded.
        git: the repository of the head; None where there is none.
        scratch: a folder outside the workspace, removed when the run ends.
        cache: folder of the judge cache; None to judge everything anew.
        warn: told what a reader should know and what does not change the verdict.
        report_dir: as the settings name it; the system under test must not write there.
        llm: where answers come from: ``replay``, ``auto`` (a model where no recording fits), ``live`` or ``record``.
        payment: who is paid for live answers; None where none may be given.
        events: where what happens is written down.
        from_base: names of the configuration's blocks that are the base branch's where the change says otherwise.
        secrets: whether the gate holds any that the system under test must not reach.
    """

    environment: MutableMapping[str, str]
    git: Git | None
    scratch: Path
    cache: Path | None
    database_url: str
    configuration: Configuration
    ledger: Ledger
    progress: Progress
    warn: Callable[[str], None]
    concurrency: int = 4
    deadline: float | None = None
    report_dir: str = "ratiba-report"
    llm: str = "replay"
    payment: Payment | None = None
    events: EventLog = field(default_factory=NoEvents)
    from_base: tuple[str, ...] = ()
    secrets: bool = False


@dataclass(frozen=True, slots=True)
class Materials:
    """What a run evaluates.

    Args:
        recordings: by scenario id.
        day: of the run, in UTC.
        edited_prompts: paths of the prompt files that the change under test edits.
        free: ids of scenarios for which no model is called: what is not recorded of them is not measured.
    """

    arm: Arm
    scenarios: Sequence[Scenario]
    recordings: Mapping[str, Sequence[Recording]]
    prompt_versions: tuple[str, ...]
    day: date = date.max
    edited_prompts: tuple[str, ...] = ()
    free: Collection[str] = ()

    @property
    def judged(self) -> bool:
        """Whether any scenario needs a judge."""
        return any(is_judged(entry.metric) for scenario in self.scenarios for entry in scenario.assertions)

    @property
    def plan(self) -> Plan:
        """Every trial of every scenario; those in quarantine come last, so that they take no money from the others."""
        ordered = sorted(self.scenarios, key=lambda one: quarantine_in_force(one, self.day) is not None)
        return Plan(tuple(Trial(one, self.arm, number) for one in ordered for number in range(one.strategy.trials)))


@dataclass(frozen=True, slots=True)
class BaseOffer:
    """The other side of a comparison, of which nothing is written and nothing started yet.

    Args:
        configuration: see ``BaseInputs``.
        scenarios: those of the run that are the same on the base.
        recordings: the base's, by scenario id.
        fetch: writes the base's files to the run's own folder, and says what is evaluated there. Called once, in a
            thread; raises RatibaError when they cannot be had.
    """

    configuration: Configuration
    scenarios: Sequence[Scenario]
    recordings: Mapping[str, Sequence[Recording]]
    fetch: Callable[[], Materials]
