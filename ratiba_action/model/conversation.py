"""What happened in a conversation, and which models were called for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from ratiba_action.model.plan import BASE
from ratiba_action.model.scenario import Turn
from ratiba_action.model.values import JsonObject, Usd


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the system called in a turn."""

    name: str
    args: JsonObject
    output: Any = None


@dataclass(frozen=True, slots=True)
class SystemEvent:
    """Something that the system reported in a turn: a state transition, a payment state, a hand-off."""

    type: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class Document:
    """A document that the system retrieved for its answer, or found as the answer.

    Args:
        id: as the scenario's ``expect.documents`` names it.
        text: its content, as far as the system used it.
        score: the system's own; higher is better. None where it gives none.
    """

    id: str
    text: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the system answered to one turn.

    Args:
        documents: in the system's order, the best first.
        output: a structured answer, any JSON: ``{"label": …, "confidence": …}`` or ``{"labels": […]}`` of a classifier.
    """

    text: str
    state: str | None = None
    payment: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    events: tuple[SystemEvent, ...] = ()
    documents: tuple[Document, ...] = ()
    output: Any = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call. ``input_tokens`` leaves out the cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """The tokens of both."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        """The tokens of this that are not of the other."""
        return Usage(
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cache_read_tokens - other.cache_read_tokens,
            self.cache_write_tokens - other.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn and its reply.

    Args:
        seconds: from the turn to its whole reply.
        usd: list price of the model calls that the system made in it; None where it is not known.
        replayed: a recording or a script answered one of them, so that ``seconds`` says nothing about a live turn.
        calls: how many model calls the system made in it; None where that is not known.
        usage: tokens of these calls; None where they are not known.
        cut: that an answer in it ended at its output limit, as a sentence without a full stop; empty where none did.
    """

    turn: Turn
    reply: Reply
    seconds: float = 0.0
    usd: Usd | None = None
    replayed: bool = False
    calls: int | None = None
    usage: Usage | None = None
    cut: str = ""


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


class CustomerEnding(StrEnum):
    """Why a simulated customer writes no more."""

    GOAL_REACHED = "goal reached"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """Model calls that bypass the gateway, as a system reports them in a reply.

    Args:
        provider: ``anthropic`` or ``openai``; empty where it does not say.
    """

    model: str
    provider: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class JournaledAnswer:
    """A paid answer, kept so that an interrupted run can go on without paying for it again.

    Args:
        key: digest of (arm, scenario, trial, party, provider, endpoint, request key, ordinal); one call of one run.
        body: the provider's whole answer.
    """

    key: str
    body: JsonObject = field(repr=False)


@dataclass(frozen=True, slots=True)
class SettledAnswer:
    """What an earlier process of the same run was answered and has paid for."""

    body: JsonObject = field(repr=False)
    usage: Usage


@dataclass(frozen=True, slots=True)
class AnsweredCalls:
    """Model calls of a conversation that were answered.

    Args:
        replayed: how many of them a recording or a script answered.
        usd: estimated cost of all of them; None where one has no list price, as a scripted one.
        usage: tokens of all of them.
        cuts: number, from 1, of each that was cut at its output limit, and how.
    """

    count: int = 0
    replayed: int = 0
    usd: Usd | None = Decimal(0)
    usage: Usage = field(default_factory=Usage)
    cuts: tuple[tuple[int, str], ...] = ()


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
        list_price: the estimated cost of it live.
        answered_by: the model that answered, where the answer names it otherwise than ``model``; else empty.
    """

    party: Party
    scenario_id: str
    model: str
    usage: Usage
    cost: Usd
    list_price: Usd
    replayed: bool
    answered_by: str = ""


@dataclass(frozen=True, slots=True)
class MergeAttempt:
    """What a merge of shards has called models for itself, besides its shards.

    Args:
        attempt: of the workflow run, from 1.
    """

    attempt: int
    calls: tuple[ModelCall, ...]


@dataclass(frozen=True, slots=True)
class Reservation:
    """Money set aside for one call that is about to be made.

    Args:
        number: which reservation of its ledger this is, from 1.
        upper: the most that the call can cost.
        exact: ``upper`` is what it costs, since the money is spent already.
    """

    number: int
    party: Party
    scenario_id: str
    model: str
    upper: Usd
    exact: bool = False


def payer(party: Party, arm: str) -> Party:
    """Who a call is booked on: whatever the base arm asks for is the baseline's, but its cross-checks.

    What the comparison costs is one amount: the base's system, its simulated customers and the scores of its
    conversations. The cross-check samples both arms alike and stays an amount of its own, the first to be given up.

    Args:
        arm: name of the arm whose conversation it belongs to.
    """
    return Party.BASELINE if arm == BASE and party is not Party.CROSS_CHECK else party
