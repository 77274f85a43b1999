"""A golden conversation and what must hold in it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ratiba_action.core.model.values import JsonObject


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
