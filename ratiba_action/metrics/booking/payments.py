"""Payments as tool calls, delivered events and database rows tell of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiba_action.metrics.booking.bookings import identifier, succeeded
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.values import JsonObject

REQUEST = "request_payment"
CANCELLED = "PAYMENT_CANCELLED_BY_CUSTOMER"

_MPESA_RECEIPT = re.compile(r"\b(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*\d)[A-Z][A-Z0-9]{9}\b")
_TRACKING_ID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)
_NAMED_RECEIPT = re.compile(
    r"\b(?:receipt|risiti|reference|ref|code|kumbukumbu)\b(?:\s+(?:ya|yako|no|number|namba|ni|is|m-?pesa|pesapal))*"
    r"[\s.:#]*\b(?P<code>(?=[A-Z0-9-]*\d)[A-Z][A-Z0-9-]{5,})\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"\b(?:KES|KSH|Kshs?|sh)\.?\s?(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d{1,2}))?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PaymentCall:
    """One ``request_payment`` call; ``turn`` counts from 1 and amounts are as given."""

    turn: int
    booking_id: str | None
    amount_kes: Any
    phone: Any
    succeeded: bool


@dataclass(frozen=True, slots=True)
class Callback:
    """A payment callback that the scenario delivered in a turn."""

    turn: int
    succeeded: bool
    receipt: str | None


@dataclass(frozen=True, slots=True)
class StoredPayment:
    """One row of the ``payments`` query."""

    id: str | None
    booking_id: str | None
    phone: Any
    amount_kes: Any
    status: str
    receipt: str | None


def payment_calls(transcript: Transcript) -> tuple[PaymentCall, ...]:
    """Every request for money, in order."""
    return tuple(
        PaymentCall(
            turn,
            identifier(call.args.get("booking_id")),
            call.args.get("amount_kes"),
            call.args.get("phone"),
            succeeded(call.output),
        )
        for turn, exchange in enumerate(transcript.exchanges, 1)
        for call in exchange.reply.tool_calls
        if call.name == REQUEST
    )


def callbacks(transcript: Transcript) -> tuple[Callback, ...]:
    """Every callback that was delivered, in order; one that is repeated stands once."""
    return tuple(
        Callback(turn, exchange.turn.event.get("result") == "success", identifier(exchange.turn.event.get("receipt")))
        for turn, exchange in enumerate(transcript.exchanges, 1)
        if exchange.turn.event is not None and exchange.turn.event.get("type") == "payment_callback"
    )


def cancelled_turns(transcript: Transcript) -> tuple[int, ...]:
    """Turns in which the customer cancelled a payment, however it became known."""
    turns = []
    for turn, exchange in enumerate(transcript.exchanges, 1):
        event, reply = exchange.turn.event or {}, exchange.reply
        delivered = event.get("type") == "payment_cancelled_by_customer" or event.get("result") == "cancelled"
        reported = any(seen.data.get("to") == CANCELLED for seen in reply.events if seen.type == "payment_state")
        if delivered or reported or reply.payment == CANCELLED:
            turns.append(turn)
    return tuple(turns)


def stored_payments(rows: Sequence[JsonObject]) -> tuple[StoredPayment, ...]:
    """The rows of the ``payments`` query."""
    return tuple(
        StoredPayment(
            identifier(row.get("id")),
            identifier(row.get("booking_id")),
            row.get("phone"),
            row.get("amount_kes"),
            str(row.get("status")),
            identifier(row.get("receipt")),
        )
        for row in rows
    )


def prices(transcript: Transcript) -> Mapping[str, Any]:
    """Price of each booking by its id: from the ``bookings`` rows, else from what ``create_booking`` returned."""
    found: dict[str, Any] = {}
    for exchange in transcript.exchanges:
        for call in exchange.reply.tool_calls:
            if call.name == "create_booking" and isinstance(call.output, Mapping) and "price_kes" in call.output:
                found[str(call.output.get("booking_id"))] = call.output["price_kes"]
    for row in transcript.rows.get("bookings", ()):
        found[str(row.get("id"))] = row.get("price_kes")
    return found


def whole_kes(value: Any) -> int | None:
    """A positive whole number of shillings, None for anything else: fractions, text, NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value == float("inf"):  # noqa: PLR0124 — NaN
        return None
    return int(value) if value > 0 and value == int(value) else None


def stated_amounts(text: str) -> frozenset[int]:
    """Whole amounts that a text gives in shillings: "KES 3,500"; 0 stands for one with cents."""
    return frozenset(
        0 if match[2] and int(match[2]) else int(match[1].replace(",", "")) for match in _AMOUNT.finditer(text)
    )


def claimed_receipts(text: str) -> frozenset[str]:
    """Receipts in a text, upper case: of M-Pesa, of PesaPal (tracking ids), and any code called a receipt."""
    found = {match[0] for pattern in (_MPESA_RECEIPT, _TRACKING_ID) for match in pattern.finditer(text)}
    found |= {match["code"] for match in _NAMED_RECEIPT.finditer(text)}
    return frozenset(code.upper() for code in found)
