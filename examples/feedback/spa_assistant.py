"""A booking assistant that is one function, and knows two hours only: what its customers dislike."""


def answer(message: str, history: list[dict[str, str]]) -> dict[str, str]:
    """The reply to a message, and the state of the conversation."""
    if not history:
        return {"text": "Karibu! Ungependa kuja saa ngapi?", "state": "ASKING_TIME"}
    hour = "saa nne" if "saa nne" in message.casefold() else "saa tatu"
    return {"text": f"Nimekuwekea kesho {hour} asubuhi. Asante!", "state": "BOOKED"}
