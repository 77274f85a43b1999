"""Tool: book a slot that the customer has confirmed."""

from datetime import timedelta

import psycopg

from booking_assistant.clock import format_minute, parse_minute
from booking_assistant.database import fetch_required
from booking_assistant.memory import JsonObject
from booking_assistant.tools.desk import Desk


async def run(desk: Desk, service: str, start: str) -> JsonObject:
    """Book a slot for the customer at the price list's price.

    The database has the last word: a slot that someone else took since it was offered is refused by the
    constraint ``bookings_no_overlap``, not by a check that could come too early.

    Args:
        desk: the tools' surroundings.
        service: a name from the price list.
        start: local time as ``YYYY-MM-DDTHH:MM``.

    Returns:
        ``created``; then either the booking (``booking_id``, ``start``, ``end``, ``price_kes``) or ``reason``.
    """
    offer = await fetch_required(desk.connection, "SELECT * FROM services WHERE name = %s", (service,))
    begin = parse_minute(start)
    end = begin + timedelta(minutes=offer["minutes"])
    try:
        booking = await fetch_required(
            desk.connection,
            "INSERT INTO bookings (service, resource_id, start_at, end_at, status, price_kes, customer_phone)"
            " VALUES (%s, %s, %s, %s, 'confirmed', %s, %s) RETURNING id",
            (service, offer["resource_id"], begin, end, offer["price_kes"], desk.customer.phone),
        )
    except psycopg.errors.ExclusionViolation:
        return {"created": False, "reason": "taken"}
    return {
        "created": True,
        "booking_id": booking["id"],
        "start": start,
        "end": format_minute(end),
        "price_kes": offer["price_kes"],
    }
