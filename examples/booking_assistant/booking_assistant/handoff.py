"""The briefing card: what a colleague must know before taking a conversation over (ADR-0006)."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from booking_assistant.memory import JsonObject, Memory

_LAST_MESSAGES = 4


@dataclass(frozen=True, slots=True)
class BriefingCard:
    """One card.

    Args:
        customer: ``name`` and ``phone``.
        summary: one sentence.
        state: where the conversation stood.
        booking: the present booking, None without one.
        payment: the latest payment, None without one.
        last_messages: the latest messages, each with ``role`` and ``text``.
    """

    customer: JsonObject
    summary: str
    state: str
    booking: JsonObject | None
    payment: JsonObject | None
    last_messages: list[JsonObject]

    def to_json(self) -> JsonObject:
        """The card as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """Read a card and check its shape.

        Raises:
            ValueError: a part is missing, unknown or of the wrong kind; all of them are named.
        """
        wanted: dict[str, type | tuple[type, ...]] = {
            "customer": dict,
            "summary": str,
            "state": str,
            "booking": (dict, type(None)),
            "payment": (dict, type(None)),
            "last_messages": list,
        }
        wrong = sorted(set(value) ^ set(wanted))
        wrong += [name for name, kind in wanted.items() if name in value and not isinstance(value[name], kind)]
        if not wrong and not all(_is_line(line) for line in value["last_messages"]):
            wrong.append("last_messages")
        if wrong:
            raise ValueError(f"a briefing card is wrong in {wrong!r}: it needs exactly {sorted(wanted)!r}")
        return cls(**value)


def write_briefing(memory: Memory, name: str, phone: str, reason: str) -> BriefingCard:
    """The card for a conversation, written from its memory without a model."""
    booking, payment = memory["booking"], memory["payment"]
    about = f"{booking['service']} on {booking['start']}" if booking else "no booking yet"
    paying = f"payment {payment['status']}" if payment else "no payment"
    history = memory["history"]
    message = memory["incoming"].get("message")
    if message:
        history = [*history, {"role": "customer", "text": message}]
    return BriefingCard(
        customer={"name": name, "phone": phone},
        summary=f"{name}: {reason} ({about}; {paying})",
        state=memory["state"],
        booking=booking,
        payment=payment,
        last_messages=history[-_LAST_MESSAGES:],
    )


def _is_line(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"role", "text"}
