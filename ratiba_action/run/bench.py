"""Everything that a trial needs, given together."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

from ratiba_action.checks.turn_checks import DetectLanguage
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import Trial
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.values import Usd
from ratiba_action.money.reported_usage import FreeTurns
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.ports import (
    CustomCode,
    CustomerSimulator,
    EventLog,
    Metric,
    ModelGateway,
    Progress,
    SystemUnderTest,
    TenantProvisioner,
    TurnBooks,
)


def admit_all(_: Trial) -> AbstractAsyncContextManager[str]:
    """Lets every trial run: nothing that it does costs money."""
    return nullcontext("")


def never_stop(_: Sequence[ScenarioResult]) -> str:
    """Lets a run go on whatever has failed."""
    return ""


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything that a trial needs.

    Args:
        systems: the system under test of each arm, by the arm's name.
        metric: a fresh metric for an assertion; called once for each case.
        rows: SQL by name of each arm, by the arm's name, read from a tenant after its conversation.
        prompt_versions: of each arm, by the arm's name, sorted.
        concurrency: trials at once.
        deadline: seconds of ``time.monotonic`` after which no trial starts, and running ones end.
        admit: waits until a trial may start, and says why it must not; empty when it runs.
        turns: books what a turn costs past the gate, before it is sent and when it was answered.
        stop: why no further trial starts, given what came of those before; empty while one may.
        retries: whether trials that broke off are held again, as their strategies say.
        detect_language: tells the language of a reply; needed where a turn expects one.
        declared_usd: what each arm's configuration declares that a turn costs at models that bypass the gateway, by the
            arm's name; 0 where it declares that no model is called, None where it declares nothing.
        captured: arms whose system gives replies that were captured earlier, so that no turn's seconds say anything.
        simulator: plays the customer; needed where a scenario has a simulated user.
        custom: runs the rules and metrics that lie in the repository, by the arm's name.
        events: where what happens is written down.
    """

    systems: Mapping[str, SystemUnderTest]
    tenants: TenantProvisioner
    gateway: ModelGateway
    metric: Callable[[Assertion], Metric]
    rows: Mapping[str, Mapping[str, str]]
    prompt_versions: Mapping[str, tuple[str, ...]]
    progress: Progress
    concurrency: int = 4
    deadline: float | None = None
    admit: Callable[[Trial], AbstractAsyncContextManager[str]] = admit_all
    turns: TurnBooks = field(default_factory=FreeTurns)
    detect_language: DetectLanguage | None = None
    custom: Mapping[str, CustomCode] = field(default_factory=dict)
    simulator: CustomerSimulator | None = None
    declared_usd: Mapping[str, Usd | None] = field(default_factory=dict)
    captured: Collection[str] = ()
    stop: Callable[[Sequence[ScenarioResult]], str] = never_stop
    retries: bool = True
    events: EventLog = field(default_factory=NoEvents)
