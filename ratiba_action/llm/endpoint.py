"""What the gateway must know of one endpoint of one provider."""

import json
from collections.abc import Iterator
from typing import Any, Protocol

from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject


def event(data: Any, name: str | None = None) -> bytes:
    """One event: its name, if it has one, and its data as JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


END = b"data: [DONE]\n\n"
"""How OpenAI ends a stream of chat completions."""


class Endpoint(Protocol):
    """The wire format of one endpoint; stateless."""

    provider: str
    name: str

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, in one sentence, or None."""
        ...

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request in its one spelling, without what cannot change the answer."""
        ...

    def system_prompt(self, body: JsonObject) -> str:
        """The text of the system prompt; empty when there is none."""
        ...

    def last_user_text(self, body: JsonObject) -> str:
        """The text of the user's last message; empty when there is none."""
        ...

    def usage(self, answer: JsonObject) -> Usage:
        """The tokens that the provider's answer reports.

        Raises:
            RecordingError: it reports none.
        """
        ...

    def stream(self, request: JsonObject, answer: JsonObject) -> Iterator[bytes]:
        """The answer as server-sent events, as the provider sends them."""
        ...

    def error(self, status: int, message: str) -> JsonObject:
        """The body of an error with this HTTP status."""
        ...
