"""What a judged metric shows of each turn, and the digest of exactly that."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum, auto

from ratiba_action.metrics.judging.deepeval_metric import SingleTurn
from ratiba_action.model.canonical import canonical_json, digest
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Case


class Part(Enum):
    """A part of a turn. Tools are shown where there are some; without one of the others a turn is not measured."""

    ASKED = auto()
    REPLY = auto()
    DOCUMENTS = auto()
    REFERENCE = auto()
    TOOLS = auto()


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn that can be measured.

    Args:
        number: of the turn, from 1.
        shown: only what the metric shows.
    """

    number: int
    shown: SingleTurn


def shown_turns(case: Case, parts: frozenset[Part]) -> tuple[ShownTurn, ...]:
    """The turns that have everything that a metric shows; an event in the customer's place is asked as JSON."""
    turns = (
        (number, _shown(exchange, parts), _held(exchange))
        for number, exchange in enumerate(case.transcript.exchanges, 1)
    )
    needed = parts - {Part.TOOLS}
    return tuple(ShownTurn(number, shown) for number, shown, held in turns if needed <= held)


def shown_digest(turns: Sequence[ShownTurn]) -> str:
    """SHA-256 of what is shown, and of which turns."""
    return digest([[turn.number, asdict(turn.shown)] for turn in turns])


def _asked(exchange: Exchange) -> str:
    if exchange.turn.user is not None:
        return exchange.turn.user
    return canonical_json(dict(exchange.turn.event or {}))


def _documents(exchange: Exchange) -> tuple[str, ...]:
    return tuple(document.text for document in exchange.reply.documents if document.text.strip())


def _held(exchange: Exchange) -> frozenset[Part]:
    held = {
        Part.ASKED: bool(_asked(exchange).strip()),
        Part.REPLY: bool(exchange.reply.text.strip()),
        Part.DOCUMENTS: bool(_documents(exchange)),
        Part.REFERENCE: bool((exchange.turn.expect.answer or "").strip()),
    }
    return frozenset(part for part, there in held.items() if there)


def _shown(exchange: Exchange, parts: frozenset[Part]) -> SingleTurn:
    return SingleTurn(
        asked=_asked(exchange) if Part.ASKED in parts else "",
        reply=exchange.reply.text if Part.REPLY in parts else "",
        documents=_documents(exchange) if Part.DOCUMENTS in parts else (),
        reference=exchange.turn.expect.answer or "" if Part.REFERENCE in parts else "",
        tools=exchange.reply.tool_calls if Part.TOOLS in parts else (),
    )
