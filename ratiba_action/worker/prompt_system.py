"""A system without code: a file is the system prompt of a model, which is given the whole conversation."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .http_call import AnswerError, call, decode


class Adapter:
    """Opens conversations with the model.

    Args:
        options: ``file``, ``provider``, ``model``, ``max_output_tokens`` and ``temperature`` (None for the
            provider's own).
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def open(self, _context: Any) -> Conversation:
        """Read the prompt."""
        return Conversation(self._options, Path(self._options["file"]).read_text(encoding="utf-8"))


class Conversation:
    """One conversation with the model."""

    def __init__(self, options: dict[str, Any], prompt: str) -> None:
        self._options = options
        self._prompt = prompt
        self._history: list[dict[str, str]] = []

    def send(self, message: str) -> Any:
        """What the model says to the customer's message and all that came before it."""
        messages = [*self._history, {"role": "user", "content": message}]
        call = _ask_anthropic if self._options["provider"] == "anthropic" else _ask_openai
        text = call(self._options, self._prompt, messages)
        self._history = [*messages, {"role": "assistant", "content": text}]
        return {"text": text}

    def deliver(self, event: dict[str, Any]) -> Any:
        """Refuse: a prompt is told what the customer says, and nothing else."""
        raise AnswerError(f"a system that is a prompt takes messages only, not the event {event.get('type')!r}")


def _ask_anthropic(options: dict[str, Any], prompt: str, messages: list[dict[str, str]]) -> str:
    body = {
        "model": options["model"],
        "max_tokens": options["max_output_tokens"],
        "system": prompt,
        "messages": messages,
        **_temperature(options),
    }
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    answer = _post(os.environ["ANTHROPIC_BASE_URL"].rstrip("/") + "/v1/messages", headers, body)
    try:
        return "".join(block["text"] for block in answer["content"] if block["type"] == "text")
    except (KeyError, TypeError):
        raise AnswerError("the model's answer is not one of Anthropic's messages") from None


def _ask_openai(options: dict[str, Any], prompt: str, messages: list[dict[str, str]]) -> str:
    body = {
        "model": options["model"],
        "max_completion_tokens": options["max_output_tokens"],
        "messages": [{"role": "system", "content": prompt}, *messages],
        **_temperature(options),
    }
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    answer = _post(os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions", headers, body)
    try:
        message = answer["choices"][0]["message"]
        return str(message.get("content") or message.get("refusal") or "")
    except (KeyError, TypeError, IndexError, AttributeError):
        raise AnswerError("the model's answer is not a chat completion") from None


def _temperature(options: dict[str, Any]) -> dict[str, float]:
    return {} if options["temperature"] is None else {"temperature": options["temperature"]}


def _post(address: str, headers: dict[str, str], body: dict[str, Any]) -> Any:
    content = json.dumps(body).encode("ascii")
    return decode(call("POST", address, {**headers, "Content-Type": "application/json"}, content), "the model")
