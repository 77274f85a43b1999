"""Tool: move a booking to another time."""

import psycopg

from booking_assistant.clock import format_minute, parse_minute
from booking_assistant.database import fetch_required
from booking_assistant.memory import JsonObject
from booking_assistant.tools.desk import Desk


async def run(desk: Desk, booking_id: int, start: str) -> JsonObject:
    """Move a confirmed booking; its old slot is free from then on.

    Args:
        desk: the tools' surroundings.
        booking_id: a confirmed booking.
        start: local time as ``YYYY-MM-DDTHH:MM``.

    Returns:
        ``rescheduled``; then either ``start`` and ``end`` or ``reason``.
    """
    begin = parse_minute(start)
    try:
        booking = await fetch_required(
            desk.connection,
            "UPDATE bookings SET start_at = %s, end_at = %s + (end_at - start_at)"
            " WHERE id = %s AND status = 'confirmed' RETURNING end_at",
            (begin, begin, booking_id),
        )
    except psycopg.errors.ExclusionViolation:
        return {"rescheduled": False, "reason": "taken"}
    return {"rescheduled": True, "start": start, "end": format_minute(booking["end_at"])}
