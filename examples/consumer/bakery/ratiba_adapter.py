"""How the eval gate migrates this system, opens a conversation with it and speaks."""

from pathlib import Path
from typing import Any

import psycopg

from .model import understand
from .order_fsm import next_move
from .orders import cancel_order, place_order

MIGRATIONS = Path(__file__).resolve().parents[1] / "migrations"


class Adapter:
    """The class that ``.github/ratiba.yml`` names."""

    def migrate(self, database_url: str) -> None:
        """Create the tables."""
        with psycopg.connect(database_url) as connection:
            for path in sorted(MIGRATIONS.glob("*.sql")):
                connection.execute(path.read_bytes())

    def open(self, context: Any) -> "Conversation":
        """Start a conversation in the tenant's schema."""
        return Conversation(psycopg.connect(context.database_url, autocommit=True), context.customer_phone)


class Conversation:
    """One customer's conversation.

    Args:
        connection: to the tenant's schema.
        phone: the customer's.
    """

    def __init__(self, connection: psycopg.Connection, phone: str) -> None:
        self._connection = connection
        self._phone = phone
        self._state = "browsing"
        self._wanted = ("", 0)

    def send(self, message: str) -> dict[str, Any]:
        """Answer a message, and do what it asks for."""
        understood = understand(self._state, message)
        if understood["intent"] == "order":
            self._wanted = (understood["item"], understood["quantity"])
        self._state, tool = next_move(self._state, understood["intent"])
        return {"text": understood["reply"], "state": self._state, "tool_calls": self._use(tool)}

    def _use(self, tool: str | None) -> list[dict[str, Any]]:
        if tool == "place_order":
            item, quantity = self._wanted
            output = place_order(self._connection, self._phone, item, quantity)
            return [{"name": tool, "args": {"item": item, "quantity": quantity}, "output": output}]
        if tool == "cancel_order":
            return [{"name": tool, "args": {}, "output": cancel_order(self._connection, self._phone)}]
        return []

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
