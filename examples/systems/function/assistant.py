"""A system that is one function."""


def answer(message: str, history: list[dict[str, str]]) -> dict[str, str] | str:
    """The reply to a message; a plain text would do, a mapping may tell the state too."""
    if not history:
        return {"text": "Bonjour ! Comment vous appelez-vous ?", "state": "ASKING_NAME"}
    return {"text": f"Enchanté, {message}.", "state": "GREETED"}
