"""Every noun of the gate, frozen. Read this file first.

Data flows one way: ``ChangedFiles`` → ``ModeDecision`` → ``Selection`` → ``Plan`` → ``Transcript`` →
``Score`` → ``ScenarioResult`` → ``Evidence`` → ``Verdict`` → ``Report``.
Only the standard library is imported: the ``decide`` step runs this on a bare Python.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

Usd = Decimal
"""An amount of US dollars; never a float."""

JsonObject = Mapping[str, Any]
"""A decoded JSON object; treated as read-only."""


# --- what changed, and how strict to be ---------------------------------------------------------


class Mode(StrEnum):
    """How much the gate may stop: nothing to run, a warning, or the merge."""

    SKIP = "skip"
    ADVISORY = "advisory"
    BLOCKING = "blocking"

    @property
    def strictness(self) -> int:
        """Rank of the mode: 0 for skip, 2 for blocking."""
        return list(Mode).index(self)


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern of the ``rules`` input.

    Args:
        mode: what a matching file asks for.
        pattern: a gitignore pattern.
        line: its line in the rules text, from 1; 0 for a built-in rule.
    """

    mode: Mode
    pattern: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The paths that a change touches.

    Args:
        paths: repository-relative, with both names of a renamed file.
        base: commit that the change starts from, when known.
        head: commit that is evaluated, when known.
        doubt: why the list may be incomplete; any doubt makes the gate blocking.
    """

    paths: tuple[str, ...]
    base: str | None = None
    head: str | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one file asks for a mode.

    Args:
        path: the file; empty when the reason is not about a file.
        rule: the pattern that decided, or the name of a built-in rule.
        mode: what it asks for.
        why: one sentence for a person.
    """

    path: str
    rule: str
    mode: Mode
    why: str


@dataclass(frozen=True, slots=True)
class DependencyChange:
    """One package whose version or source differs between base and head.

    Args:
        package: its name, with the kind of file in doubt.
        before: version at the base, None when it was added.
        after: version at the head, None when it was removed.
        change: ``major``, ``minor``, ``patch``, ``added``, ``removed``, ``downgrade``, ``source`` or ``unreadable``.
        file: the manifest or lock file.
    """

    package: str
    before: str | None
    after: str | None
    change: str
    file: str


@dataclass(frozen=True, slots=True)
class ModeDecision:
    """The mode of a run with everything that led to it."""

    mode: Mode
    reasons: tuple[Reason, ...]
    dependencies: tuple[DependencyChange, ...] = ()


# --- a golden conversation ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExpectedTool:
    """A tool call that a turn must make; ``args`` is a subset of the call's arguments."""

    name: str
    args: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExpectedEvent:
    """An event that a turn must emit; ``data`` is a subset of the event's data."""

    type: str
    data: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must hold after one turn. None means that nothing is expected of that part.

    Args:
        state: state of the conversation after the turn.
        payment: state of the payment after the turn.
        tools: the turn's tool calls, in order and complete; an empty tuple forbids any.
        events: events that the turn must emit, in any order, others allowed.
    """

    state: str | None = None
    payment: str | None = None
    tools: tuple[ExpectedTool, ...] | None = None
    events: tuple[ExpectedEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of a conversation: either the customer speaks or the world does (a payment callback).

    Args:
        user: the customer's message, or None.
        event: ``{"type": …, …}`` delivered to the system instead of a message, or None.
        expect: what must hold afterwards.
        line: line of the turn in its file.
    """

    user: str | None = None
    event: JsonObject | None = None
    expect: Expectation = Expectation()
    line: int = 0


@dataclass(frozen=True, slots=True)
class FailureRule:
    """An exact rule over the whole conversation, such as ``must_not_contain``."""

    type: str
    value: Any
    line: int = 0


@dataclass(frozen=True, slots=True)
class Assertion:
    """A metric that a scenario is measured by, with its threshold (0 to 1)."""

    metric: str
    threshold: float
    line: int = 0


@dataclass(frozen=True, slots=True)
class Customer:
    """The fictional customer of a scenario."""

    name: str
    phone: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """A golden conversation; see ``docs/scenarios.md`` for each field.

    Args:
        now: the clock that the system is given; aware of its time zone.
        touches: gitignore patterns of the files that this scenario depends on.
        path: file that it was read from, relative to the repository.
    """

    id: str
    language: str
    turns: tuple[Turn, ...]
    now: datetime
    customer: Customer
    layer: str = "golden"
    system_type: str = "chatbot"
    vertical: str = ""
    tags: frozenset[str] = frozenset()
    critical: bool = False
    touches: tuple[str, ...] = ()
    rules: tuple[FailureRule, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Suite:
    """All scenarios of a repository, in order of id, and the digest of their files."""

    scenarios: tuple[Scenario, ...]
    digest: str


# --- what is to run -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison.

    Args:
        name: ``head`` or ``base``.
        root: absolute path of that side's checkout.
        commit: its commit, None for a working tree.
    """

    name: str
    root: str
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one scenario on one arm; ``number`` counts from 0."""

    scenario: Scenario
    arm: Arm
    number: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The trials to run next."""

    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """The mode and the scenarios that it asks for."""

    decision: ModeDecision
    scenarios: tuple[Scenario, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tenant:
    """A scenario's own schema, role and connection.

    Args:
        id: UUID of the registered tenant.
        schema: name of the schema and of the role that owns it; at most 63 bytes.
        dsn: connection string of that role, its search path set to the schema; holds a password.
    """

    id: str
    schema: str
    dsn: str = field(repr=False)


# --- what happened ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the system called in a turn."""

    name: str
    args: JsonObject
    output: Any = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the system reported in a turn: a state transition, a payment state, a hand-off."""

    type: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class Reply:
    """What the system answered to one turn."""

    text: str
    state: str | None = None
    payment: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn and its reply."""

    turn: Turn
    reply: Reply


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole conversation as it happened.

    Args:
        exchanges: in order.
        rows: what the database holds afterwards, by the name of the configured query.
        prompt_versions: ``name@version`` of each prompt that the system used, sorted.
        models: models that generated it, sorted.
    """

    scenario_id: str
    exchanges: tuple[Exchange, ...]
    rows: Mapping[str, tuple[JsonObject, ...]] = field(default_factory=dict)
    prompt_versions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call. ``input_tokens`` leaves out the cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Party(StrEnum):
    """Who caused a model call."""

    SYSTEM = "system"
    JUDGE = "judge"
    CROSS_CHECK = "cross-check"
    SIMULATOR = "simulator"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One settled model call.

    Args:
        cost: what was paid; 0 when replayed.
        list_price: what it costs live at list prices.
    """

    party: Party
    scenario_id: str
    model: str
    usage: Usage
    cost: Usd
    list_price: Usd
    replayed: bool


# --- how it is measured -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """All that a metric may look at."""

    scenario: Scenario
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class Question:
    """One call of a judge, identified independently of how a metric library words its prompt.

    Args:
        metric: ``name:version`` of the metric that asks.
        transcript: SHA-256 of the canonical transcript.
        ordinal: number of this question within the metric, from 0.
        prompt: what a live model is sent; not part of the question's identity.
    """

    scenario_id: str
    metric: str
    transcript: str
    ordinal: int
    prompt: str = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Grade:
    """A judge's answer, validated.

    Args:
        score: 0 to 1.
        reason: the judge's own words; untrusted text.
        replayed: it came from a recording.
    """

    score: float
    reason: str
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Invariant:
    """One named condition of a deterministic metric that applied to a case."""

    name: str
    satisfied: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's value for one case.

    Args:
        value: 0 to 1, 1 is best.
        threshold: least value that passes, frozen when the run starts.
        judged: True when a model gave it, so that the pass rate covers it; False is exact.
        invariants: of a deterministic metric, each one that applied.
        cached: taken from the judge cache.
    """

    metric: str
    version: str
    value: float
    threshold: float
    judged: bool
    reason: str = ""
    invariants: tuple[Invariant, ...] = ()
    cached: bool = False

    @property
    def passed(self) -> bool:
        """Whether the value reaches the threshold."""
        return self.value >= self.threshold


@dataclass(frozen=True, slots=True)
class Check:
    """An exact comparison that held or did not.

    Args:
        kind: ``state``, ``payment``, ``tools``, ``event`` or ``rule``.
        turn: number of the turn, from 1; 0 for the whole conversation.
        what: the assertion in words.
        line: its line in the scenario's file.
    """

    kind: str
    turn: int
    what: str
    expected: str
    got: str
    passed: bool
    line: int = 0


class Phase(StrEnum):
    """Where a scenario's trial broke off."""

    TENANT = "tenant"
    SYSTEM = "system"
    RECORDING = "recording"
    BUDGET = "budget"
    JUDGE = "judge"
    METRIC = "metric"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Scored:
    """A trial that ran to its end."""

    trial: Trial
    transcript: Transcript
    checks: tuple[Check, ...]
    scores: tuple[Score, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether every check holds and every score reaches its threshold."""
        return all(check.passed for check in self.checks) and all(score.passed for score in self.scores)


@dataclass(frozen=True, slots=True)
class Errored:
    """A trial that broke off; what it had measured by then is kept."""

    trial: Trial
    phase: Phase
    message: str
    transcript: Transcript | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class NotRun:
    """A trial that was planned and not started."""

    trial: Trial
    reason: str


ScenarioResult = Scored | Errored | NotRun


# --- the decision -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spending:
    """The money of a run."""

    cap: Usd
    spent: Usd
    list_price: Usd
    live_calls: int
    replayed_calls: int
    cache_hits: int
    by_party: Mapping[str, Usd] = field(default_factory=dict)
    by_model: Mapping[str, Usd] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run is held to; frozen when it starts.

    Args:
        pass_rate: least share of judged scores that must reach their threshold, 0 to 1.
    """

    pass_rate: float = 0.80


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the verdict may look at."""

    mode: Mode
    results: tuple[ScenarioResult, ...]
    limits: Limits
    interruption: str | None = None


class Conclusion(StrEnum):
    """How a run ended."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    INCOMPLETE = "incomplete"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion, the reason for it in one sentence, and what to do next."""

    conclusion: Conclusion
    reason: str
    action: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """What was evaluated.

    Args:
        repository: ``owner/name``, empty on a laptop without a remote.
        pull_request: its number, None outside a pull request.
        head: commit that was evaluated.
        base: commit that it was compared with.
        author: login of the pull request's author; shown, never trusted.
        run_id: id of the workflow run, 0 on a laptop.
        run_attempt: attempt of that run, from 1.
    """

    repository: str = ""
    pull_request: int | None = None
    head: str = ""
    base: str = ""
    title: str = ""
    author: str = ""
    run_id: int = 0
    run_attempt: int = 1
    run_url: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is published about a run.

    Args:
        name: of the gate; several may live in one repository.
        enforce: False during a trial period, when failures do not block.
        llm: ``replay``, ``record`` or ``live``: where the model answers came from.
        notes: what the reader must know besides the verdict, such as recordings that the change itself edited.
    """

    name: str
    subject: Subject
    decision: ModeDecision
    verdict: Verdict
    results: tuple[ScenarioResult, ...]
    spending: Spending
    limits: Limits
    started_at: datetime
    seconds: float
    enforce: bool = True
    llm: str = "replay"
    judge_model: str = ""
    suite_digest: str = ""
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
