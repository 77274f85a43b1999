"""The flow of an order: which state follows, and whether it is placed."""

MOVES = {
    ("browsing", "order"): ("confirming", None),
    ("confirming", "order"): ("confirming", None),
    ("confirming", "confirm"): ("ordered", "place_order"),
    ("confirming", "cancel"): ("browsing", None),
    ("ordered", "cancel"): ("browsing", "cancel_order"),
}


def next_move(state: str, intent: str) -> tuple[str, str | None]:
    """The state after a message, and the tool that it asks for; other messages change nothing."""
    return MOVES.get((state, intent), (state, None))
