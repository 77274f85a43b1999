"""Tool: give the conversation to a person."""

from psycopg.types.json import Jsonb

from booking_assistant.database import fetch_required
from booking_assistant.handoff import BriefingCard
from booking_assistant.memory import JsonObject
from booking_assistant.tools.desk import Desk


async def run(desk: Desk, reason: str, briefing: JsonObject) -> JsonObject:
    """Log the hand-off with its briefing card.

    Args:
        desk: the tools' surroundings.
        reason: why a person is needed, in a few words.
        briefing: a ``handoff.BriefingCard`` as JSON.

    Raises:
        ValueError: the card has another shape.
    """
    card = BriefingCard.from_json(briefing)
    row = await fetch_required(
        desk.connection,
        "INSERT INTO handoffs (reason, briefing) VALUES (%s, %s) RETURNING id",
        (reason, Jsonb(card.to_json())),
    )
    return {"handoff_id": row["id"]}
