"""Server-sent events, as both providers frame them."""

import json
from typing import Any


def event(data: Any, name: str | None = None) -> bytes:
    """One event: its name, if it has one, and its data as JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


END = b"data: [DONE]\n\n"
"""How OpenAI ends a stream of chat completions."""
