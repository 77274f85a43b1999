"""Builders of conversations for tests of checks and metrics."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ratiba_action.model.conversation import Document, Exchange, Reply, SystemEvent, ToolCall, Transcript
from ratiba_action.model.measurement import Case
from ratiba_action.model.scenario import Customer, Expectation, FailureRule, Scenario, Turn
from ratiba_action.model.values import JsonObject

NOW = datetime.fromisoformat("2026-04-25T10:00:00+03:00")
"""A Saturday morning in Nairobi."""

PHONE = "+254 712 345 432"


def exchange(
    user: str | None,
    reply: str,
    *calls: ToolCall,
    event: JsonObject | None = None,
    state: str | None = None,
    payment: str | None = None,
    events: Sequence[SystemEvent] = (),
    expect: Expectation = Expectation(),  # noqa: B008 — frozen
) -> Exchange:
    """One turn with its reply; ``user`` is None for an event."""
    return Exchange(Turn(user, event, expect, line=7), Reply(reply, state, payment, calls, tuple(events)))


def found(*documents: str, expect: Expectation, output: Any = None) -> Exchange:
    """One query with the documents, or the structured output, of its reply."""
    reply = Reply("", documents=tuple(Document(name) for name in documents), output=output)
    return Exchange(Turn("query", None, expect, line=7), reply)


def case(
    *exchanges: Exchange,
    rows: Mapping[str, tuple[JsonObject, ...]] | None = None,
    rules: tuple[FailureRule, ...] = (),
    language: str = "sw",
    scenario_id: str = "spa_booking",
    prompt_versions: tuple[str, ...] = (),
) -> Case:
    """A case of the given conversation on a Saturday morning, for Wanjiku."""
    scenario = Scenario(
        scenario_id,
        language,
        tuple(one.turn for one in exchanges),
        NOW,
        Customer("Wanjiku", PHONE),
        rules=rules,
    )
    transcript = Transcript(scenario_id, exchanges, rows or {}, prompt_versions)
    return Case(scenario, transcript)


def answered(*pairs: tuple[str, str | None]) -> Case:
    """A case of (reply, reference answer) pairs."""
    return case(*(exchange("Habari", reply, expect=Expectation(answer=answer)) for reply, answer in pairs))


def look_up(start: str, service: str = "massage") -> ToolCall:
    """A ``check_availability`` call that found the slot free."""
    return ToolCall("check_availability", {"service": service, "start": start}, {"free": True})


def create(start: str, booking_id: int = 1, service: str = "massage") -> ToolCall:
    """A ``create_booking`` call that booked the slot for 3,500 KES."""
    output: dict[str, Any] = {"created": True, "booking_id": booking_id, "start": start, "price_kes": 3500}
    return ToolCall("create_booking", {"service": service, "start": start}, output)


def move(start: str, booking_id: int = 1) -> ToolCall:
    """A ``reschedule_booking`` call that moved the booking."""
    return ToolCall("reschedule_booking", {"booking_id": booking_id, "start": start}, {"rescheduled": True})


def cancel(booking_id: int = 1) -> ToolCall:
    """A ``cancel_booking`` call that went through."""
    return ToolCall("cancel_booking", {"booking_id": booking_id}, {"cancelled": True})


def charge(amount: Any = 3500, phone: Any = "+254712345432", booking_id: int = 1, payment_id: int = 1) -> ToolCall:
    """A ``request_payment`` call that reached the rail."""
    args = {"booking_id": booking_id, "rail": "mpesa", "amount_kes": amount, "phone": phone}
    return ToolCall("request_payment", args, {"requested": True, "payment_id": payment_id})


def booking(
    start: str, booking_id: int = 1, *, end: str | None = None, status: str = "confirmed", phone: str = PHONE
) -> JsonObject:
    """A row of the ``bookings`` query: a massage for 3,500 KES; times as ``2026-04-26T14:00`` in Nairobi."""
    return {
        "id": booking_id,
        "service": "massage",
        "start_at": f"{start}:00+03:00",
        "end_at": f"{end}:00+03:00" if end else None,
        "status": status,
        "price_kes": 3500,
        "customer_phone": phone,
    }


def payment(
    status: str = "PAID",
    receipt: str | None = "TKL4X8Q2ZP",
    *,
    payment_id: int = 1,
    booking_id: int = 1,
    amount: Any = 3500,
    phone: Any = "+254712345432",
) -> JsonObject:
    """A row of the ``payments`` query."""
    return {
        "id": payment_id,
        "booking_id": booking_id,
        "rail": "mpesa",
        "phone": phone,
        "amount_kes": amount,
        "status": status,
        "receipt": receipt,
    }


def callback_event(result: str = "success", receipt: str | None = "TKL4X8Q2ZP") -> JsonObject:
    """A payment callback as a scenario delivers it."""
    return {"type": "payment_callback", "rail": "mpesa", "result": result, "receipt": receipt, "amount_kes": 3500}


def callback_row(
    receipt: str = "TKL4X8Q2ZP", *, payment_id: int = 1, duplicate: bool = False, result: str = "success"
) -> JsonObject:
    """A row of the ``payment_callbacks`` query."""
    return {
        "id": 1,
        "payment_id": payment_id,
        "result": result,
        "receipt": receipt,
        "amount_kes": 3500,
        "duplicate": duplicate,
    }
