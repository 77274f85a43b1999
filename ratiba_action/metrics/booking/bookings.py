"""Bookings as tool calls and database rows tell of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ratiba_action.model.conversation import ToolCall, Transcript
from ratiba_action.model.values import JsonObject
from ratiba_action.util.instants import LocalTime, parse_instant

LOOK_UP = "check_availability"
CREATE = "create_booking"
MOVE = "reschedule_booking"
CANCEL = "cancel_booking"


@dataclass(frozen=True, slots=True)
class BookingCall:
    """One tool call about a slot.

    Args:
        turn: number of the turn, from 1.
        tool: ``check_availability``, ``create_booking``, ``reschedule_booking`` or ``cancel_booking``.
        start: the slot's start, None when the call names none that can be read.
        booking_id: from the arguments, else from the output; as text.
        succeeded: the output reports no error and no refusal.
    """

    turn: int
    tool: str
    service: str
    start: datetime | None
    booking_id: str | None
    succeeded: bool


@dataclass(frozen=True, slots=True)
class StoredBooking:
    """One row of the ``bookings`` query."""

    id: str | None
    service: str
    start: datetime | None
    end: datetime | None
    confirmed: bool
    price_kes: Any
    phone: Any


def booking_calls(transcript: Transcript, clock: LocalTime) -> tuple[BookingCall, ...]:
    """Every call of the four booking tools, in order."""
    return tuple(
        BookingCall(
            turn,
            call.name,
            str(call.args.get("service") or ""),
            parse_instant(call.args.get("start"), clock),
            _booking_id(call),
            succeeded(call.output),
        )
        for turn, exchange in enumerate(transcript.exchanges, 1)
        for call in exchange.reply.tool_calls
        if call.name in {LOOK_UP, CREATE, MOVE, CANCEL}
    )


def stored_bookings(rows: Sequence[JsonObject], clock: LocalTime) -> tuple[StoredBooking, ...]:
    """The rows of the ``bookings`` query."""
    return tuple(
        StoredBooking(
            identifier(row.get("id")),
            str(row.get("service") or ""),
            parse_instant(row.get("start_at"), clock),
            parse_instant(row.get("end_at"), clock),
            row.get("status") == "confirmed",
            row.get("price_kes"),
            row.get("customer_phone"),
        )
        for row in rows
    )


def succeeded(output: Any) -> bool:
    """Whether a tool's output reports success: an object without an error and without a ``false`` of its own."""
    if isinstance(output, Mapping):
        return not output.get("error") and not any(value is False for value in output.values())
    return not (isinstance(output, str) and output.lower().startswith("error"))


def identifier(value: Any) -> str | None:
    """An id as text, None when there is none; ``1`` and ``"1"`` are the same booking."""
    return None if value is None else str(value)


def _booking_id(call: ToolCall) -> str | None:
    given = call.args.get("booking_id")
    if given is None and isinstance(call.output, Mapping):
        given = call.output.get("booking_id", call.output.get("id"))
    return identifier(given)
