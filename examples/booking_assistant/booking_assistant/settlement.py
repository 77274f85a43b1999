"""What a rail's callback does to a payment. Called once per delivery; a repeated delivery changes nothing."""

from dataclasses import dataclass
from enum import StrEnum

import psycopg

from booking_assistant.database import Connection, Row, fetch_one
from booking_assistant.fsm import PaymentState
from booking_assistant.rails.rail import Callback, Result


class Outcome(StrEnum):
    """What a callback turned out to mean."""

    PAID = "paid"
    FAILED = "payment_failed"
    CANCELLED = "payment_cancelled"
    CHARGED_AFTER_CANCELLATION = "charged_after_cancellation"
    WRONG_AMOUNT = "wrong_amount"
    UNEXPECTED_CHARGE = "unexpected_charge"
    DUPLICATE = "duplicate"
    UNKNOWN_PAYMENT = "unknown_payment"
    TOO_LATE = "too_late"


@dataclass(frozen=True, slots=True)
class Settlement:
    """A callback's meaning and the payment's state after it."""

    outcome: Outcome
    status: PaymentState


async def cancel(connection: Connection, payment_id: int) -> bool:
    """Cancel a payment that is still pending, for the customer; False when it is too late."""
    row = await fetch_one(
        connection,
        "UPDATE payments SET status = 'PAYMENT_CANCELLED_BY_CUSTOMER'"
        " WHERE id = %s AND status = 'PENDING' RETURNING id",
        (payment_id,),
    )
    return row is not None


async def settle(connection: Connection, payment_id: int | None, callback: Callback) -> Settlement:
    """Record a callback and apply it to its payment, both or neither.

    Args:
        connection: to the tenant's database.
        payment_id: the latest payment of the conversation, None without one.
        callback: as read from the rail.
    """
    async with connection.transaction():
        payment = await fetch_one(
            connection,
            "SELECT * FROM payments WHERE id = %s AND rail = %s FOR UPDATE",
            (payment_id, callback.rail),
        )
        duplicate = not await _record(connection, payment, callback)
        if payment is None:
            return Settlement(Outcome.UNKNOWN_PAYMENT, PaymentState.NONE)
        before = PaymentState(payment["status"])
        outcome = _outcome(before, payment["amount_kes"], callback)
        # A reversal that broke off is taken up again when the rail repeats itself.
        if duplicate and outcome is not Outcome.CHARGED_AFTER_CANCELLATION:
            return Settlement(Outcome.DUPLICATE, before)
        if outcome is Outcome.PAID and await _is_used(connection, callback.receipt):
            outcome = Outcome.UNEXPECTED_CHARGE
        after = _STATUS_AFTER.get(outcome, before)
        keeps_receipt = outcome in {Outcome.PAID, Outcome.CHARGED_AFTER_CANCELLATION}
        await connection.execute(
            "UPDATE payments SET status = %s, receipt = coalesce(%s, receipt) WHERE id = %s",
            (after, callback.receipt if keeps_receipt else None, payment["id"]),
        )
        return Settlement(outcome, after)


_STATUS_AFTER = {
    Outcome.PAID: PaymentState.PAID,
    Outcome.FAILED: PaymentState.FAILED,
    Outcome.CANCELLED: PaymentState.PAYMENT_CANCELLED_BY_CUSTOMER,
}


def _outcome(before: PaymentState, asked_kes: int, callback: Callback) -> Outcome:
    if callback.result is not Result.SUCCESS:
        if before is not PaymentState.PENDING:
            return Outcome.TOO_LATE
        return Outcome.CANCELLED if callback.result is Result.CANCELLED else Outcome.FAILED
    if callback.amount_kes != asked_kes:
        return Outcome.WRONG_AMOUNT
    if before is PaymentState.PENDING:
        return Outcome.PAID
    if before is PaymentState.PAYMENT_CANCELLED_BY_CUSTOMER:
        return Outcome.CHARGED_AFTER_CANCELLATION
    return Outcome.UNEXPECTED_CHARGE


async def _is_used(connection: Connection, receipt: str | None) -> bool:
    return await fetch_one(connection, "SELECT 1 FROM payments WHERE receipt = %s", (receipt,)) is not None


async def _record(connection: Connection, payment: Row | None, callback: Callback) -> bool:
    """Write the callback down; False when the same one was there before."""
    row = (payment["id"] if payment else None, callback.result, callback.receipt, callback.amount_kes)
    insert = (
        "INSERT INTO payment_callbacks (payment_id, result, receipt, amount_kes, duplicate) VALUES (%s,%s,%s,%s,%s)"
    )
    try:
        async with connection.transaction():
            await connection.execute(insert, (*row, False))
    except psycopg.errors.UniqueViolation:
        await connection.execute(insert, (*row, True))
        return False
    return True
