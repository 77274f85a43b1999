"""Tool: cancel a booking."""

from booking_assistant.database import fetch_required
from booking_assistant.memory import JsonObject
from booking_assistant.tools.desk import Desk


async def run(desk: Desk, booking_id: int) -> JsonObject:
    """Cancel a confirmed booking; its slot is free from then on.

    Args:
        desk: the tools' surroundings.
        booking_id: a confirmed booking.
    """
    await fetch_required(
        desk.connection,
        "UPDATE bookings SET status = 'cancelled' WHERE id = %s AND status = 'confirmed' RETURNING id",
        (booking_id,),
    )
    return {"cancelled": True}
