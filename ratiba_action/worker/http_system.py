"""The adapter of a system that runs elsewhere and speaks HTTP: each call of the gate is one POST of JSON.

It runs in the worker like any adapter, so that what the system answers is as little trusted as one's own code.
"""

from __future__ import annotations

import json
import os
import urllib.parse
from typing import Any

from .code_version import require_path
from .http_call import AnswerError, call, decode

_HANDED_ON = (
    "DATABASE_URL",
    "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY",
    "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_KEY", "OPENAI_AGENTS_DISABLE_TRACING",
    "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE", "GEMINI_API_KEY", "GOOGLE_API_KEY",
)  # fmt: skip


class Adapter:
    """Opens conversations at the address that the configuration names.

    Args:
        options: ``url``.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options, self._address = options, options["url"].rstrip("/")

    def migrate(self, database_url: str) -> None:
        """Have the system create its tables in the schema of the search path."""
        post(f"{self._address}/migrate", {"database_url": database_url})

    def open(self, context: Any) -> HttpConversation:
        """Open one conversation; the system gets its tenant and where its models are."""
        require_path(self._options)
        environment = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
        fields = {**vars(context), "now": context.now.isoformat()}
        answer = post(f"{self._address}/conversations", {"context": fields, "environment": environment})
        identifier = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(identifier, str) or not identifier:
            raise AnswerError(f"the system opened a conversation without a text as its `id`: {identifier!r}")
        return HttpConversation(f"{self._address}/conversations/{urllib.parse.quote(identifier, safe='')}")


class HttpConversation:
    """One conversation of a system that runs elsewhere."""

    def __init__(self, address: str) -> None:
        self._address = address

    def send(self, message: str) -> Any:
        """The reply to what the customer says."""
        return post(f"{self._address}/send", {"message": message})

    def deliver(self, event: dict[str, Any]) -> Any:
        """The reply to something else that happened."""
        return post(f"{self._address}/deliver", {"event": event})

    def close(self) -> None:
        """End it."""
        post(f"{self._address}/close", {})


def post(address: str, content: dict[str, Any]) -> Any:
    """Ask once; returns the JSON of the answer, None for an empty one."""
    answer = call("POST", address, {"Content-Type": "application/json"}, json.dumps(content).encode("ascii"))
    return decode(answer, f"POST {address}") if answer.strip() else None
