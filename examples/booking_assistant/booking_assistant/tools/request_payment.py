"""Tool: ask the customer's phone to pay for a booking."""

import psycopg

from booking_assistant.database import fetch_required
from booking_assistant.memory import JsonObject
from booking_assistant.rails.rail import PaymentRequest
from booking_assistant.tools.desk import Desk


async def run(desk: Desk, booking_id: int, rail: str, amount_kes: int, phone: str) -> JsonObject:
    """Send one payment request, unless the booking is paid or has a request that is still open.

    The index ``payments_one_live_per_booking`` keeps the row from being written a second time, so no second
    request can leave.

    Args:
        desk: the tools' surroundings.
        booking_id: a confirmed booking.
        rail: ``mpesa`` or ``pesapal``.
        amount_kes: whole Kenyan shillings.
        phone: the number to ask, as ``+254712345678``.

    Returns:
        ``requested``; then either ``payment_id`` and the rail's ``reference`` or ``reason``.

    Raises:
        ValueError: the amount is not the booking's price.
    """
    booking = await fetch_required(
        desk.connection,
        "SELECT price_kes FROM bookings WHERE id = %s AND status = 'confirmed'",
        (booking_id,),
    )
    if amount_kes != booking["price_kes"]:
        raise ValueError(f"cannot ask for {amount_kes!r} KES: booking {booking_id} costs {booking['price_kes']} KES")
    try:
        async with desk.connection.transaction():  # a rail that refuses leaves no payment behind
            payment = await fetch_required(
                desk.connection,
                "INSERT INTO payments (booking_id, rail, phone, amount_kes, status)"
                " VALUES (%s, %s, %s, %s, 'PENDING') RETURNING id",
                (booking_id, rail, phone, amount_kes),
            )
            reference = await desk.rails[rail].request(PaymentRequest(payment["id"], phone, amount_kes))
    except psycopg.errors.UniqueViolation:
        return {"requested": False, "reason": "already_paid_or_pending"}
    return {"requested": True, "payment_id": payment["id"], "reference": reference}
