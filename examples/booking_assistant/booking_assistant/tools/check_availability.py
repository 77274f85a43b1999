"""Tool: is this service free at this time, and if not, when is it?"""

from datetime import datetime, timedelta

from booking_assistant.catalogue import CLOSES, OPENS
from booking_assistant.clock import format_minute, parse_minute
from booking_assistant.database import Connection, Row, fetch_one, fetch_required
from booking_assistant.memory import JsonObject
from booking_assistant.tools.desk import Desk

_STEP = timedelta(minutes=30)
_MAX_ALTERNATIVES = 2


async def run(desk: Desk, service: str, start: str) -> JsonObject:
    """Look a slot up; nothing is reserved.

    Args:
        desk: the tools' surroundings.
        service: a name from the price list.
        start: local time as ``YYYY-MM-DDTHH:MM``.

    Returns:
        ``free``; ``reason`` when it is not (``past``, ``closed``, ``taken``); ``end``, ``price_kes``; and
        ``alternatives``, up to two later starts on the same day.
    """
    offer = await fetch_required(desk.connection, "SELECT * FROM services WHERE name = %s", (service,))
    begin = parse_minute(start)
    length = timedelta(minutes=offer["minutes"])
    reason = await _obstacle(desk, offer, begin, begin + length)
    alternatives = [] if reason is None else await _alternatives(desk, offer, begin, length)
    return {
        "free": reason is None,
        "reason": reason,
        "end": format_minute(begin + length),
        "price_kes": offer["price_kes"],
        "alternatives": [format_minute(other) for other in alternatives],
    }


async def _obstacle(desk: Desk, offer: Row, begin: datetime, end: datetime) -> str | None:
    if begin <= desk.clock.now():
        return "past"
    if begin.time() < OPENS or end > datetime.combine(begin.date(), CLOSES, begin.tzinfo):
        return "closed"
    return "taken" if await _is_taken(desk.connection, offer["resource_id"], begin, end) else None


async def _is_taken(connection: Connection, resource_id: int, begin: datetime, end: datetime) -> bool:
    clash = await fetch_one(
        connection,
        "SELECT 1 FROM bookings WHERE status = 'confirmed' AND resource_id = %s"
        " AND tstzrange(start_at, end_at) && tstzrange(%s, %s)",
        (resource_id, begin, end),
    )
    return clash is not None


async def _alternatives(desk: Desk, offer: Row, begin: datetime, length: timedelta) -> list[datetime]:
    found: list[datetime] = []
    candidate = max(begin + _STEP, datetime.combine(begin.date(), OPENS, begin.tzinfo))
    closing = datetime.combine(begin.date(), CLOSES, begin.tzinfo)
    while candidate + length <= closing and len(found) < _MAX_ALTERNATIVES:
        if await _obstacle(desk, offer, candidate, candidate + length) is None:
            found.append(candidate)
        candidate += _STEP
    return found
