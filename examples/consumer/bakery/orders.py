"""The orders of a bakery, in PostgreSQL."""

from psycopg import Connection

PRICES_KES = {"white bread": 80, "brown bread": 95, "mandazi": 15}


def place_order(connection: Connection, phone: str, item: str, quantity: int) -> dict[str, int]:
    """Enter an order at the price of the list.

    Raises:
        ValueError: the item is not on the list, or the quantity is not positive.
    """
    if item not in PRICES_KES or quantity < 1:
        raise ValueError(f"cannot order {quantity} of {item!r}: give one or more of {sorted(PRICES_KES)}")
    total = PRICES_KES[item] * quantity
    row = connection.execute(
        "INSERT INTO orders (phone, item, quantity, total_kes) VALUES (%s, %s, %s, %s) RETURNING id",
        (phone, item, quantity, total),
    ).fetchone()
    return {"order": row[0] if row else 0, "total_kes": total}


def cancel_order(connection: Connection, phone: str) -> dict[str, int]:
    """Cancel what a customer ordered; how many orders that were."""
    done = connection.execute("UPDATE orders SET status = 'cancelled' WHERE phone = %s AND status = 'placed'", (phone,))
    return {"cancelled": done.rowcount}
