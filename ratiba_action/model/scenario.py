"""A golden conversation and what must be true in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any

from ratiba_action.model.case_file import CaseFile
from ratiba_action.model.own_history import Statistical
from ratiba_action.model.values import JsonObject, Usd


class Layer(StrEnum):
    """What a scenario runs: the system with a mocked model, one turn, captured replies, all of it, a real customer's.

    A scenario file names it under ``layer``.
    """

    FSM = "fsm"
    TURN = "turn"
    REPLAY = "replay"
    GOLDEN = "golden"
    PRODUCTION = "production"


class SystemType(StrEnum):
    """What kind of system a scenario talks to; it decides the metrics that ``metrics`` of the configuration adds."""

    CHATBOT = "chatbot"
    AGENT = "agent"
    RAG = "rag"
    SEARCH = "search"
    CLASSIFIER = "classifier"


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
class ExpectedTransition:
    """A move of the system's state machine that a turn must make; None stands for any state."""

    source: str | None
    target: str


@dataclass(frozen=True, slots=True)
class ExpectedOutput:
    """A structured answer, and what of it does not count.

    Args:
        value: any JSON.
        ignore: paths of parts that are left out of the comparison, such as ``items[*].id``.
        ignore_whitespace: runs of white space in texts are one space, and none at their ends.
        ignore_order: lists are compared as multisets.
    """

    value: Any
    ignore: tuple[str, ...] = ()
    ignore_whitespace: bool = False
    ignore_order: bool = False


@dataclass(frozen=True, slots=True)
class ExpectedReply:
    """What the text of a reply must be like.

    Args:
        contains: texts that it has, each of them; case is ignored.
        contains_any: texts of which it has at least one; case is ignored.
        not_contains: texts that it has not; case is ignored.
        contains_word: texts that it has as whole words, each of them; case is ignored.
        contains_any_word: texts of which it has at least one as whole words; case is ignored.
        not_contains_word: texts that it has not as whole words; case is ignored.
        matches: patterns that are found in it, each of them; case counts.
        equals: the whole text, but for white space and Unicode's forms; case counts.
        json: values by JMESPath of the JSON that the reply is; an empty mapping for any JSON.
        max_words: the most words, separated by white space.
    """

    contains: tuple[str, ...] = ()
    contains_any: tuple[str, ...] = ()
    not_contains: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    equals: str | None = None
    json: Mapping[str, Any] | None = None
    max_words: int | None = None
    contains_word: tuple[str, ...] = ()
    contains_any_word: tuple[str, ...] = ()
    not_contains_word: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """What a table or a query of the tenant's database must contain.

    Args:
        table: name of a table; empty where a query is given.
        query: SQL that reads; empty where a table is given.
        where: values by column; only rows that have all of them are looked at. Objects match by subset.
        count: how many such rows there must be; None for at least one, or for as many as ``equals`` lists.
        equals: an object that each of them must match, a list of such objects in any order, or the one value of a
            single row and column; None for nothing.
        line: of the assertion in its file.
    """

    table: str = ""
    query: str = ""
    where: JsonObject = field(default_factory=dict)
    count: int | None = None
    equals: Any = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must be true after one turn. None means that nothing is expected of that part.

    ``state`` to ``rows`` are deterministic assertions. What follows is the truth that metrics compare with.

    Args:
        tools: the turn's tool calls, in order and complete; an empty tuple forbids any.
        events: events that the turn must emit, in any order, others allowed.
        transitions: moves of the state machine that the turn must make, in this order, others allowed between them.
        language: ISO 639 code that the reply must be written in.
        reply: what the text of the reply must be like.
        rows: what the database must contain after the turn.
        documents: relevant documents by id with their relevance, 1 where none is given.
        refusal: whether the system has to refuse.
    """

    state: str | None = None
    payment: str | None = None
    tools: tuple[ExpectedTool, ...] | None = None
    events: tuple[ExpectedEvent, ...] = ()
    transitions: tuple[ExpectedTransition, ...] = ()
    output: ExpectedOutput | None = None
    language: str | None = None
    reply: ExpectedReply | None = None
    rows: tuple[ExpectedRows, ...] = ()
    answer: str | None = None
    key_phrases: tuple[str, ...] = ()
    documents: Mapping[str, float] | None = None
    label: str | None = None
    labels: tuple[str, ...] | None = None
    refusal: bool | None = None

    @property
    def is_exact(self) -> bool:
        """Whether there is a deterministic assertion among it."""
        given = (self.state, self.payment, self.tools, self.output, self.language, self.reply)
        return bool(self.events or self.transitions or self.rows) or any(part is not None for part in given)


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of a conversation: either the customer speaks or the world does (a payment callback).

    Args:
        user: the customer's message, or None.
        event: ``{"type": …, …}`` delivered to the system instead of a message, or None.
    """

    user: str | None = None
    event: JsonObject | None = None
    expect: Expectation = Expectation()
    line: int = 0


@dataclass(frozen=True, slots=True)
class FailureRule:
    """A deterministic assertion on the whole conversation, such as ``must_not_contain``."""

    type: str
    value: Any
    line: int = 0


def assertion_label(metric: str, name: str) -> str:
    """``GEval prices`` for the metric GEval that is named prices; two metrics never share a label."""
    return f"{metric} {name}" if name else metric


@dataclass(frozen=True, slots=True)
class Assertion:
    """A metric that a scenario is measured by.

    Args:
        threshold: least value that passes, 0 to 1.
        parameters: what the metric is given besides; checked by the metric when the suite is loaded.
        name: distinguishes it from other assertions of the same metric; empty for the one that needs none.
        of_rule: a failure rule was written as it.
    """

    metric: str
    threshold: float
    line: int = 0
    parameters: JsonObject = field(default_factory=dict)
    name: str = ""
    of_rule: bool = False

    @property
    def label(self) -> str:
        """What its scores, thresholds and comparisons go by: the metric, and the name where it has one."""
        return assertion_label(self.metric, self.name)


@dataclass(frozen=True, slots=True)
class Customer:
    """The fictional customer of a scenario."""

    name: str
    phone: str


DEFAULT_NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""The clock of a scenario that gives none: a Monday morning, always the same, so that a replay asks the same."""
DEFAULT_CUSTOMER = Customer("Alex Doe", "+1 202-555-0100")
"""The customer of a scenario that gives none; the number is one of those that NANPA keeps for fiction."""


@dataclass(frozen=True, slots=True)
class SimulatedUser:
    """A customer that a model plays, instead of written turns.

    Args:
        goal: what they want; the conversation ends when they have it.
        max_turns: the conversation ends after so many messages of the customer.
        must_reach_goal: whether a conversation that ends without the goal fails.
    """

    persona: str
    goal: str
    max_turns: int = 8
    must_reach_goal: bool = True


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """What each turn may take at most; None is no limit.

    Args:
        seconds: from the customer's message to the whole reply.
        usd: estimated cost of the system's own model calls in the turn.
    """

    seconds: float | None = None
    usd: Usd | None = None


MAX_TRIALS = 50
"""Of one scenario, planned; further ones of a comparison come on top."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How the repeats of a scenario are run and when it passes.

    Args:
        min_mean: None: each score must reach its own threshold. A number: their mean must reach this one
            instead, and every deterministic assertion must hold.
        trials: how often the scenario is run, from 1 to ``MAX_TRIALS``.
        passes: how many of the trials must pass, from 1; None for all.
        timeout_seconds: of one trial; None for no limit but the run's.
        retries: how often a trial that errored (never one that failed) is run again.
        given: names of the fields that the scenario's file gives; defaults of the suite stand in for the others.
        statistical: by which judged scores pass instead of by their thresholds; None for the thresholds.
    """

    min_mean: float | None = None
    trials: int = 1
    passes: int | None = None
    timeout_seconds: float | None = None
    retries: int = 0
    given: frozenset[str] = frozenset()
    statistical: Statistical | None = None

    def __post_init__(self) -> None:
        """Refuse numbers of trials that no run can have: a report that somebody else wrote may say any.

        Raises:
            ValueError: says which.
        """
        if not 1 <= self.trials <= MAX_TRIALS:
            raise ValueError(f"trials is {self.trials!s:.20}, and must be from 1 to {MAX_TRIALS}")
        if self.passes is not None and not 1 <= self.passes <= self.trials:
            raise ValueError(
                f"passes is {self.passes!s:.20}, and must be from 1 to the number of trials, {self.trials}"
            )


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why a scenario runs, is shown, and does not decide.

    Args:
        until: the last day of it; afterwards the scenario decides again.
    """

    reason: str
    owner: str
    until: date


@dataclass(frozen=True, slots=True)
class TeamTest:
    """A test of pytest that a repository has already: one function, with all sets of its parameters.

    Args:
        node: as pytest names it, from the system's folder: ``tests/evals/test_support.py::test_refund``.
        beside: the names of all functions of its file, itself among them.
        code: SHA-256 of its file and of each ``conftest.py`` that pytest loads for it.
    """

    node: str
    beside: tuple[str, ...]
    code: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """A golden conversation; see ``docs/scenarios.md`` for each field.

    Args:
        now: the clock that the system is given; aware, with a fixed offset.
        touches: gitignore patterns of the files that this scenario depends on.
        path: file that it was read from, relative to the repository.
        script: answers of the system's model in order, for the layer ``fsm``; None asks recordings or live models.
        replies: what the system answered when the conversation was captured, for the layer ``replay``; one a turn.
        captured: the same where a metric compares them, which no reply has to equal; empty otherwise.
        simulated_user: plays the customer after the written turns; None for none.
        provenance: where a captured conversation comes from.
        rows: what the database must contain after the conversation.
        data_set: id of the file's scenario when this one is a row of its cases; empty otherwise.
        fluency: whether its language adds a fluency metric.
        test: what is run instead of a conversation; None for a conversation.
        timezone: IANA name of the zone of ``now``; empty where only its offset is known.
        title: what it shows, for people; empty for none. It is text of the change, to be escaped as such.
        inputs: JSON values by name, which the system is given besides the messages.
        family: name of the group of scenarios whose noise it shares; empty for none.
        variant: name of the system's variant that it runs with; empty for the system as it is.
    """

    id: str
    language: str
    turns: tuple[Turn, ...]
    now: datetime
    customer: Customer
    layer: Layer = Layer.GOLDEN
    system_type: SystemType = SystemType.CHATBOT
    vertical: str = ""
    tags: frozenset[str] = frozenset()
    critical: bool = False
    touches: tuple[str, ...] = ()
    rules: tuple[FailureRule, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    path: str = ""
    line: int = 0
    script: tuple[JsonObject, ...] | None = None
    replies: tuple[str, ...] = ()
    captured: tuple[str, ...] = ()
    simulated_user: SimulatedUser | None = None
    limits: TurnLimits = TurnLimits()
    strategy: Strategy = Strategy()
    quarantine: Quarantine | None = None
    provenance: JsonObject = field(default_factory=dict)
    data_set: str = ""
    rows: tuple[ExpectedRows, ...] = ()
    fluency: bool = True
    test: TeamTest | None = None
    timezone: str = ""
    title: str = ""
    inputs: JsonObject = field(default_factory=dict)
    family: str = ""
    variant: str = ""


def titled(name: str, scenario: Scenario) -> str:
    """A scenario's name, with its title if it has one, for plain text."""
    return with_title(name, scenario.title)


def with_title(name: str, title: str) -> str:
    """A scenario's name, with a title unless that is empty, for plain text."""
    return f"{name} ({title})" if title else name


@dataclass(frozen=True, slots=True)
class Suite:
    """All scenarios of a repository, in order of id, the digest of their files, and the case files among them."""

    scenarios: tuple[Scenario, ...]
    digest: str
    data_sets: tuple[CaseFile, ...] = ()
