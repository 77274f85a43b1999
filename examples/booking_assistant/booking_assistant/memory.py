"""What a conversation remembers: the LangGraph state that the checkpointer keeps between turns.

Only JSON values, so that a checkpoint can be read by any later version of the assistant.
"""

from typing import Any, TypedDict

JsonObject = dict[str, Any]
_KEPT_MESSAGES = 6


class Memory(TypedDict):
    """The state of one conversation.

    ``state`` to ``history`` live as long as the conversation; ``incoming`` to ``reply`` belong to the present turn.

    Attributes:
        state: a ``fsm.State``.
        wanted: service and start as far as the customer has named them.
        offered: service and start that the customer was asked to confirm.
        booking: id, service, start and price_kes of the present booking.
        payment: id, booking_id, rail, phone, amount_kes, status and receipt of the latest payment.
        proposed: phone and rail that the customer gave and has yet to confirm.
        history: the latest messages, each with ``role`` and ``text``.
        incoming: ``{"message": …}`` or ``{"event": …}``.
        understanding: the classifier's answer; None in a turn without a message.
        tool_calls: name, args and output of each tool of this turn.
        events: type and data of each event of this turn.
        facts: what the reply may state.
        reply: the text for the customer.
    """

    state: str
    wanted: JsonObject
    offered: JsonObject | None
    booking: JsonObject | None
    payment: JsonObject | None
    proposed: JsonObject | None
    history: list[JsonObject]
    incoming: JsonObject
    understanding: JsonObject | None
    tool_calls: list[JsonObject]
    events: list[JsonObject]
    facts: JsonObject
    reply: str


def new_memory() -> Memory:
    """The memory of a conversation in which nothing has been said."""
    return Memory(
        state="GREETING",
        wanted={},
        offered=None,
        booking=None,
        payment=None,
        proposed=None,
        history=[],
        incoming={},
        understanding=None,
        tool_calls=[],
        events=[],
        facts={},
        reply="",
    )


def start_turn(memory: Memory, incoming: JsonObject) -> Memory:
    """The memory at the beginning of a turn: what belonged to the turn before is gone."""
    return {
        **memory,
        "incoming": incoming,
        "understanding": None,
        "tool_calls": [],
        "events": [],
        "facts": {},
        "reply": "",
    }


def remember(memory: Memory, reply: str) -> list[JsonObject]:
    """The history with this turn's message and reply added; only the latest few are kept."""
    texts = [("customer", memory["incoming"].get("message", "")), ("assistant", reply)]
    new = [{"role": role, "text": text} for role, text in texts if text]
    return [*memory["history"], *new][-_KEPT_MESSAGES:]


def last_reply(memory: Memory) -> str | None:
    """What the assistant said last; None at the beginning."""
    return next((line["text"] for line in reversed(memory["history"]) if line["role"] == "assistant"), None)


def payment_status(memory: Memory) -> str:
    """The state of the latest payment, ``NONE`` without one."""
    payment = memory["payment"]
    return str(payment["status"]) if payment else "NONE"
