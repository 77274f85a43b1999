"""A system without code: a file is the system prompt of a model, which is given the whole conversation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .http_call import AnswerError, call, decode

Message = dict[str, Any]
Compose = Callable[[list[Message], str], list[Message]]
"""The messages of a request, of the conversation so far and what the customer says now."""


class Adapter:
    """Opens conversations with the model.

    Args:
        options: ``file``, ``provider``, ``model``, ``max_output_tokens``, ``temperature`` (None for the provider's own)
            and ``request``: further keys of the request.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def open(self, _context: Any) -> PromptConversation:
        """Read the prompt."""
        prompt = Path(self._options["file"]).read_text(encoding="utf-8")
        return PromptConversation(
            self._options,
            lambda history, message: [
                {"role": "system", "content": prompt},
                *history,
                {"role": "user", "content": message},
            ],
        )


class PromptConversation:
    """One conversation with the model.

    Args:
        options: see ``Adapter``.
        compose: makes the messages of each request.
    """

    def __init__(self, options: dict[str, Any], compose: Compose) -> None:
        self._options = options
        self._compose = compose
        self._history: list[Message] = []

    def send(self, message: str) -> Any:
        """What the model says to the customer's message and all that came before it."""
        ask = _ask_anthropic if self._options["provider"] == "anthropic" else _ask_openai
        reply = ask(self._options, self._compose(list(self._history), message))
        self._history.append({"role": "user", "content": message})
        if reply["text"]:
            self._history.append({"role": "assistant", "content": reply["text"]})
        return reply

    def deliver(self, event: dict[str, Any]) -> Any:
        """Refuse: a prompt is told what the customer says, and nothing else."""
        raise AnswerError(f"a system that is a prompt takes messages only, not the event {event.get('type')!r}")


def _ask_anthropic(options: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    body = {
        "model": options["model"],
        "max_tokens": options["max_output_tokens"],
        **({"system": system} if system else {}),
        "messages": [message for message in messages if message["role"] != "system"],
        **_settings(options),
    }
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    answer = _post(os.environ["ANTHROPIC_BASE_URL"].rstrip("/") + "/v1/messages", headers, body)
    try:
        blocks = answer["content"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        calls = [{"name": block["name"], "args": block["input"]} for block in blocks if block["type"] == "tool_use"]
    except (KeyError, TypeError):
        raise AnswerError("the model's answer is not one of Anthropic's messages") from None
    return _reply(text, calls)


def _ask_openai(options: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    body = {
        "model": options["model"],
        "max_completion_tokens": options["max_output_tokens"],
        "messages": messages,
        **_settings(options),
    }
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    answer = _post(os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions", headers, body)
    try:
        message = answer["choices"][0]["message"]
        text = str(message.get("content") or message.get("refusal") or "")
        functions = [each["function"] for each in message.get("tool_calls") or ()]
        calls = [{"name": each["name"], "args": json.loads(each["arguments"] or "{}")} for each in functions]
    except (KeyError, TypeError, IndexError, AttributeError, ValueError):
        raise AnswerError("the model's answer is not a chat completion") from None
    return _reply(text, calls)


def _reply(text: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {"text": text, "tool_calls": calls} if calls else {"text": text}


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    temperature = {} if options["temperature"] is None else {"temperature": options["temperature"]}
    return {**temperature, **options.get("request", {})}


def _post(address: str, headers: dict[str, str], body: dict[str, Any]) -> Any:
    content = json.dumps(body).encode("ascii")
    return decode(call("POST", address, {**headers, "Content-Type": "application/json"}, content), "the model")
