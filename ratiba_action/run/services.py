"""What a run works with while its trials run, and what came of them."""

import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from ratiba_action.checks.turn_checks import DetectLanguage
from ratiba_action.errors import ConfigurationError, RatibaError
from ratiba_action.llm.recordings.lines import Recording
from ratiba_action.model.comparison import ScorePair
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import BASE, Arm, Trial
from ratiba_action.model.reads import Reads
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.model.verdict import CrossChecking, SharedSpending
from ratiba_action.money.reported_usage import FreeTurns
from ratiba_action.ports import (
    CustomCode,
    CustomerSimulator,
    Metric,
    ModelGateway,
    SystemUnderTest,
    TeamTests,
    TenantProvisioner,
    TurnBooks,
)
from ratiba_action.run.inputs import ArmInputs, RunLog
from ratiba_action.run.reads import ReadsOfRun
from ratiba_action.verdict.pairing import results_of_change

NO_BASE = "there is no base to compare with"


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of a run's trials.

    Args:
        base_failed: see ``Evidence``.
        no_further: see ``Evidence``.
        way_out: see ``Evidence``.
        recorded: new lines of each scenario, by its id; empty unless the run records.
        reported_calls: how many model calls the system reported in its replies that the gateway did not see.
        altered: a path of what set-up made for all sides of the run that the system changed; empty where it did not.
        reads: which files each scenario of the change reads; nothing of one of which that was not seen.
    """

    results: tuple[ScenarioResult, ...] = ()
    base_failed: str | None = None
    no_further: str | None = None
    cross_checking: CrossChecking | None = None
    shared_spending: tuple[SharedSpending, ...] = ()
    way_out: str | None = None
    recorded: Mapping[str, tuple[Recording, ...]] = field(default_factory=dict)
    reported_calls: int = 0
    altered: str = ""
    pairs: tuple[ScorePair, ...] = ()
    reads: Mapping[str, Reads] = field(default_factory=dict)

    @property
    def own(self) -> tuple[ScenarioResult, ...]:
        """The results of the change itself."""
        return results_of_change(self.results)


class TrialCalls:
    """The model calls of a run's trials, as those who run trials know them. Here none costs anything, or is judged."""

    def admit(self, trial: Trial) -> AbstractAsyncContextManager[str]:  # noqa: ARG002 - of those that pay
        """Wait until a trial may start, and say why it must not; empty when it runs."""
        return nullcontext("")

    async def afford(self, trials: Sequence[Trial]) -> str | None:  # noqa: ARG002 - as above
        """Why the caps do not cover some further trials; None where they do, which are then waited for."""
        return None

    def judge_of(self, trial: Trial) -> Callable[[Any], Awaitable[JsonObject]]:
        """What answers the questions of a trial's test.

        Raises:
            ConfigurationError: nothing does.
        """
        raise ConfigurationError(f"Nothing judges for the test of {trial.scenario.id!r}.", "Run: ratiba gate")

    async def finish(self, measured: Measured, *, cancelled: bool) -> Measured:  # noqa: ARG002 - as above
        """What came of the run, once every trial has ended; one that was cancelled waits for no second judge."""
        return measured


class StopRule(Protocol):
    """Says why no further trial of a plan starts, given what came of those before."""

    def add(self, result: ScenarioResult) -> None:
        """Take the next result into account."""

    @property
    def reason(self) -> str:
        """In words; empty while a trial may start."""
        ...


class NeverStop:
    """Lets a plan go on whatever has failed."""

    reason = ""

    def add(self, result: ScenarioResult) -> None:
        """Change nothing."""


@dataclass(frozen=True, slots=True)
class ArmServices:
    """What runs the trials of one arm.

    Args:
        custom: runs the rules and metrics that lie in the repository; None where there are none.
        tests: runs the tests that lie in the repository; None where there are none.
        rows: SQL by name, read from a tenant after its last turn.
        prompt_versions: sorted.
        prompt_blobs: sorted.
        declared_usd: what the configuration declares that a turn costs at models that bypass the gateway; 0 where it
            declares that no model is called, None where it declares nothing.
        captured: the system gives replies that were captured earlier, so that no turn's seconds say anything.
        template: the arm whose schema its tenants have; None for its own.
    """

    arm: Arm
    system: SystemUnderTest
    custom: CustomCode | None = None
    rows: Mapping[str, str] = field(default_factory=dict)
    prompt_versions: tuple[str, ...] = ()
    declared_usd: Usd | None = None
    captured: bool = False
    prompt_blobs: tuple[str, ...] = ()
    template: Arm | None = None
    tests: TeamTests | None = None


class BaseConditions(Protocol):
    """What trials of the base depend on and processes of the change could alter (``docs/decisions/0087``)."""

    async def remember(self) -> None:
        """Measure it, while no process of the change runs."""

    async def changed(self, *, after: bool = False) -> str:
        """The first thing that differs from what was remembered, in words; empty where nothing does.

        Args:
            after: trials of the base have just run, which write files and use room themselves.
        """
        ...


class UnwatchedConditions:
    """Implements ``BaseConditions`` where no trial of the base follows one of the change."""

    async def remember(self) -> None:
        """Do nothing."""

    async def changed(self, *, after: bool = False) -> str:  # noqa: ARG002 - the protocol's name
        """Nothing is known to differ."""
        return ""


StartArm = Callable[[], Awaitable[ArmServices]]
"""Starts an arm, which has no trial before."""


class Arms(Mapping[str, ArmServices]):
    """The arms of a run, by name: those that are started. The others start when a plan names them, the base first.

    Args:
        waiting: starts an arm, by its name; called once.
        no_base: why there is no base to run scenarios on.
        conditions: what trials of the base depend on and the change's processes could alter.
    """

    def __init__(
        self,
        started: Mapping[str, ArmServices] | None = None,
        waiting: Mapping[str, StartArm] | None = None,
        *,
        no_base: str = NO_BASE,
        conditions: BaseConditions | None = None,
    ) -> None:
        self._started, self._waiting, self._no_base = dict(started or {}), dict(waiting or {}), no_base
        self.conditions: BaseConditions = conditions or UnwatchedConditions()

    def __getitem__(self, name: str) -> ArmServices:
        return self._started[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._started)

    def __len__(self) -> int:
        return len(self._started)

    async def require(self, names: Collection[str]) -> str | None:
        """Start what a plan names, the base before anything of the change; why that cannot be, None where it could.

        Raises:
            RatibaError: the change itself could not be started.
        """
        missing = set(names) - self._started.keys()
        if missing and (start := self._waiting.pop(BASE, None)) is not None:
            try:
                self._started[BASE] = await start()
            except (RatibaError, OSError) as error:
                self._no_base = f"it could not be started: {error}"
        for name in sorted(missing - {BASE}):
            start = self._waiting.pop(name, None)
            if start is None:
                return f"there is no arm {name}"
            await self.conditions.remember()
            self._started[name] = await start()
        return None if missing <= self._started.keys() else self._no_base

    def add(self, arm: ArmInputs) -> None:
        """Let another arm run by the first one's system and schema; call it before the arm's first trial.

        Raises:
            ValueError: nothing would answer its model calls.
        """
        raise ValueError(f"The arm {arm.arm.name!r} cannot be added.")

    def remove(self, name: str) -> None:
        """Forget an arm whose trials have ended."""
        self._started.pop(name, None)

    def open(self, arm: ArmInputs, template: Arm | None = None) -> AbstractAsyncContextManager[None]:  # noqa: ARG002 - of those that can
        """Start an arm with files of its own, which ends with the context.

        Args:
            template: the arm whose schema its tenants have; None for its own.

        Raises:
            ValueError: there is nothing to start it with.
        """
        raise ValueError(f"The arm {arm.arm.name!r} cannot be started.")

    async def altered(self) -> str:
        """A path of what set-up made for all arms of the run that one of them has changed; empty where none has."""
        return ""


@dataclass(frozen=True, slots=True)
class RunServices:
    """Everything that is open while trials run. Made by ``composition.open_services``, which closes it, too.

    Args:
        metric: a fresh metric for an assertion; called once for each case.
        deadline: seconds of ``time.monotonic`` after which no trial starts, and running ones end.
        calls: that trials make, or that are made for them.
        turns: counts what a turn costs that bypasses the gateway, before it is sent and when it was answered.
        detect_language: gives the language of a reply; needed where a turn expects one.
        simulator: plays the customer; needed where a scenario has a simulated user.
        stop_rule: makes the rule of a plan that says why none of its further trials starts.
        retries: whether trials that errored are run again, as their strategies say.
        reads: keeps what the change sends to models, to find the files that it stands in.
        started: when they were opened, in seconds of ``time.monotonic``.
    """

    arms: Arms
    tenants: TenantProvisioner
    gateway: ModelGateway
    metric: Callable[[Assertion], Metric]
    log: RunLog
    concurrency: int = 4
    deadline: float | None = None
    calls: TrialCalls = field(default_factory=TrialCalls)
    turns: TurnBooks = field(default_factory=FreeTurns)
    detect_language: DetectLanguage | None = None
    simulator: CustomerSimulator | None = None
    stop_rule: Callable[[], StopRule] = NeverStop
    retries: bool = True
    reads: ReadsOfRun = field(default_factory=ReadsOfRun)
    started: float = field(default_factory=time.monotonic)
