"""A shop that keeps its orders in PostgreSQL, and a rule of its own over what a conversation left there."""

import re
from typing import Any

import psycopg

PRICES = {"pain": 80, "mandazi": 15}


class Shop:
    """The class that ``.github/ratiba.yml`` names."""

    def migrate(self, database_url: str) -> None:
        """Create the table; called once, every conversation gets a fresh copy of it."""
        with psycopg.connect(database_url) as connection:
            connection.execute(
                "CREATE TABLE orders (id serial PRIMARY KEY, item text NOT NULL, quantity int NOT NULL, phone text)"
            )

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

    def send(self, message: str) -> dict[str, Any]:
        """Take an order, or say that a person will look into it."""
        wanted = re.search(r"(\d+) (pain|mandazi)", message.lower())
        if wanted is None:
            return {"text": "Un collègue vous répond tout de suite.", "state": "HANDED_OFF"}
        quantity, item = int(wanted[1]), wanted[2]
        self._connection.execute(
            "INSERT INTO orders (item, quantity, phone) VALUES (%s, %s, %s)", (item, quantity, self._phone)
        )
        call = {"name": "place_order", "args": {"item": item, "quantity": quantity}}
        text = f"C'est noté : {quantity} {item}, {quantity * PRICES[item]} KES."
        return {"text": text, "state": "ORDERED", "tool_calls": [call]}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def one_order(evidence: dict[str, Any]) -> dict[str, Any]:
    """A rule of the repository itself: the conversation left exactly one order."""
    count = len(evidence["rows"]["orders"])
    return {"passed": count == 1, "reason": f"{count} orders"}
