"""What happened in a run, one thing at a time; each is a line of ``events.jsonl``.

The log stamps each event with the run, a number and the time, and writes it down at once. Whoever wants to see a run
elsewhere reads the file; nothing else takes part in the run.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType

from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import Usd

SCHEMA = 1
"""Version of the lines' format; it grows when a field changes its meaning or goes away."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins.

    Args:
        commit: that is evaluated, with ``-dirty`` where a work tree had changes of its own; ``base`` is what it is
            compared with. Empty where there is none.
        workflow_run: ``id.attempt`` of the workflow run, empty outside one.
        llm: where answers come from: ``replay``, ``auto``, ``live`` or ``record``.
        suite: digest of the scenario files.
        prompt_versions: ``name@version`` of each prompt of the change, sorted.
        tenants: what each conversation is isolated by: ``postgresql`` or ``none``.
    """

    gate: str
    mode: str
    commit: str = ""
    base: str = ""
    repository: str = ""
    pull_request: int | None = None
    workflow_run: str = ""
    llm: str = ""
    suite: str = ""
    judge: str = ""
    prompt_versions: tuple[str, ...] = ()
    tenants: str = ""
    scenarios: int = 0


@dataclass(frozen=True, slots=True)
class ConversationStarted:
    """A conversation begins in its own tenant.

    Args:
        conversation_id: see ``conversation_id``.
        tenant_id: UUID of the registered tenant.
        attempt: from 1; a trial that errored may be run again, and begins again then.
        prompt_blobs: ``name@blob id`` of each prompt, sorted; equal for equal texts, whatever commits brought them.
        began: when a conversation of production began, with time zone; None of one that this run holds itself.
    """

    conversation_id: str
    tenant_id: str
    prompt_versions: tuple[str, ...] = ()
    layer: str = ""
    system_type: str = ""
    language: str = ""
    vertical: str = ""
    tags: tuple[str, ...] = ()
    attempt: int = 1
    prompt_blobs: tuple[str, ...] = ()
    began: datetime | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn was answered; its model calls stand before it.

    Args:
        user: the customer's message; None where ``event`` was delivered instead, of that type.
        seconds: from the turn to its whole reply.
        list_price_usd: of its model calls; None where it is not known.
        replayed: a recording or a script answered one of them, so that ``seconds`` says nothing about a live turn.
    """

    reply: str
    seconds: float
    user: str | None = None
    event: str | None = None
    list_price_usd: Usd | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class StateTransition:
    """The system's state machine moved; ``source`` is None at the beginning."""

    source: str | None
    target: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The system called a tool; ``args_sha256`` is of the canonical JSON of its arguments."""

    name: str
    args_sha256: str


@dataclass(frozen=True, slots=True)
class PaymentChanged:
    """A payment came to another state.

    Args:
        rail: such as ``mpesa``; empty where it is not reported, as ``currency`` and ``receipt``.
        receipt: kept as it is: double charges are found by it.
    """

    state: str
    rail: str = ""
    amount: Decimal | None = None
    currency: str = ""
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class HandedOff:
    """The system handed the conversation to a person."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """The system, or the model that plays its customer, was answered by a model.

    Args:
        cost_usd: what was paid; 0 when replayed. None where it is not known.
        list_price_usd: what it costs live; None where it is not known.
        replayed: a recording or a script answered.
        provider: of the model; empty where it is not known.
        answered_by: the model that answered, where the answer names it otherwise than ``model``; else empty.
    """

    party: str
    model: str
    usage: Usage = field(default_factory=Usage)
    cost_usd: Usd | None = None
    list_price_usd: Usd | None = None
    replayed: bool = False
    provider: str = ""
    answered_by: str = ""


@dataclass(frozen=True, slots=True)
class JudgeCalled:
    """A judge was called, or its earlier score was taken.

    Args:
        party: ``judge`` or ``cross-check``.
        cost_usd: see ``ModelCalled``; as ``list_price_usd``.
        cached: the whole score came from the judge cache; no judge was called.
        provider: of the model; empty where none was called.
        answered_by: see ``ModelCalled``.
    """

    metric: str
    version: str
    model: str
    party: str = "judge"
    usage: Usage = field(default_factory=Usage)
    cost_usd: Usd | None = None
    list_price_usd: Usd | None = None
    replayed: bool = False
    cached: bool = False
    provider: str = ""
    answered_by: str = ""


class BudgetAction(StrEnum):
    """What was done with money."""

    RESERVED = "reserved"
    SETTLED = "settled"
    KEPT = "kept"
    RELEASED = "released"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class BudgetMoved:
    """Money was reserved for a call, settled after it, or refused.

    Args:
        amount_usd: of this call: its upper bound, or what it cost when it was settled.
    """

    action: BudgetAction
    party: str
    model: str
    amount_usd: Usd
    spent_usd: Usd
    reserved_usd: Usd
    limit_usd: Usd
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ScoreLogged:
    """A metric gave its score.

    Args:
        score: 0 to 1, 1 is best.
        reason: untrusted text.
        cached: taken from the judge cache.
        votes: each measurement when there were several.
    """

    metric: str
    version: str
    score: float
    threshold: float
    passed: bool
    judged: bool = False
    reason: str = ""
    cached: bool = False
    votes: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationFailed:
    """Something that was evaluated failed: a check, a score below its threshold, or a trial that errored.

    Args:
        kind: ``check``, ``score`` or ``error``.
        name: of the check or the metric; the phase of an error.
        flag: of the conversation's entry in ``results.json``, which is true because of this; of an answer that was
            checked in production ``flagged`` or ``blocked``.
    """

    kind: str
    name: str
    expected: str = ""
    got: str = ""
    reason: str = ""
    flag: str = "eval_fail"


@dataclass(frozen=True, slots=True)
class ConversationEnded:
    """A trial has its result.

    Args:
        outcome: ``scored``, ``errored`` or ``not_run``.
        reason: why it errored, or was not run.
        retried: why each earlier attempt errored.
    """

    outcome: str
    passed: bool | None = None
    phase: str = ""
    reason: str = ""
    seconds: float = 0.0
    retried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run has its conclusion; one that was killed has no such line.

    Args:
        spent_usd: None where an error ended the run before anything was concluded.
        anchor: commit that a run of the base branch itself was compared with; empty without one.
        slow_decline: confirmed difference of the mean score to it, such as -0.06; None where none was confirmed.
    """

    conclusion: str
    reason: str
    spent_usd: Usd | None
    budget_usd: Usd
    anchor: str = ""
    slow_decline: float | None = None


@dataclass(frozen=True, slots=True)
class CanaryLooked:
    """``ratiba canary`` has compared a canary with the stable version.

    Args:
        answer: ``promote``, ``wait`` or ``roll back``.
        stable: tag, prompt version or model of one.
        e_value: evidence that the canary is worse, over all metrics; 1 is none.
        role: whose rollout was set to 0 percent at this look; empty if none was.
    """

    answer: str
    stable: str
    canary: str
    reason: str
    conversations: int
    e_value: float
    role: str = ""


Happening = (
    RunStarted
    | ConversationStarted
    | TurnEnded
    | StateTransition
    | ToolCalled
    | PaymentChanged
    | HandedOff
    | ModelCalled
    | JudgeCalled
    | BudgetMoved
    | ScoreLogged
    | EvaluationFailed
    | ConversationEnded
    | RunEnded
    | CanaryLooked
)

EVENT_TYPES: Mapping[str, type[Happening]] = MappingProxyType(
    {
        "run_started": RunStarted,
        "conversation_started": ConversationStarted,
        "turn": TurnEnded,
        "state_transition": StateTransition,
        "tool_call": ToolCalled,
        "payment": PaymentChanged,
        "hand_off": HandedOff,
        "model_call": ModelCalled,
        "judge_call": JudgeCalled,
        "budget": BudgetMoved,
        "score": ScoreLogged,
        "EVAL_FAIL": EvaluationFailed,
        "conversation_ended": ConversationEnded,
        "run_ended": RunEnded,
        "canary": CanaryLooked,
    }
)
"""The value of ``type`` in a line, and what its ``data`` holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a run something happened; None where that does not apply.

    Args:
        arm: ``head`` or ``base``.
        trial: number of the repeat, from 0.
        variant: of the system, where one ran instead.
        turn: from 1.
    """

    arm: str | None = None
    scenario: str | None = None
    trial: int | None = None
    variant: str | None = None
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run."""

    data: Happening
    place: Place = Place()

    @property
    def type(self) -> str:
        """Its name in a line."""
        return next(name for name, kind in EVENT_TYPES.items() if type(self.data) is kind)


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event as it is in the log.

    Args:
        run: id of the run, kept by one that is resumed.
        sequence: number of the event within its run, from 1.
        at: aware, in UTC.
    """

    run: str
    sequence: int
    at: datetime
    event: Event


def conversation_id(run: str, place: Place) -> str:
    """32 hexadecimal digits that name one conversation of one run, the same whoever computes them."""
    parts = (run, place.arm or "", place.scenario or "", str(place.trial or 0), place.variant or "")
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
