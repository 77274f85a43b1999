"""Long text on one short line."""

_CLIP = 200


def clip(text: str, limit: int = _CLIP) -> str:
    """The text on one line, at most ``limit`` characters, with an ellipsis where it was cut."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
