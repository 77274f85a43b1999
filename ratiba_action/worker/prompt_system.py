"""A system without code: a file is the system prompt of a model, which is given the whole conversation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

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
        reply = _ASK[self._options["provider"]](self._options, self._compose(list(self._history), message))
        self._history.append({"role": "user", "content": message})
        if reply["text"]:
            self._history.append({"role": "assistant", "content": reply["text"]})
        return reply

    def deliver(self, event: dict[str, Any]) -> Any:
        """Refuse: a prompt gets what the customer says, and nothing else."""
        raise AnswerError(f"a system that is a prompt takes messages only, not the event {event.get('type')!r}")


def _ask_anthropic(options: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    system, others = _apart(messages)
    body = {
        "model": options["model"],
        "max_tokens": options["max_output_tokens"],
        **({"system": system} if system else {}),
        "messages": others,
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


def _ask_gemini(options: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    request = dict(options.get("request", {}))
    settings = {**request.pop("generationConfig", {}), "maxOutputTokens": options["max_output_tokens"]}
    system, others = _apart(messages)
    body = {
        "contents": [
            {"role": "model" if each["role"] == "assistant" else "user", "parts": _blocks(each["content"])}
            for each in others
        ],
        **({"systemInstruction": {"parts": [{"text": system}]}} if system else {}),
        "generationConfig": {**settings, **_temperature(options)},
        **request,
    }
    headers = {"x-goog-api-key": os.environ["GEMINI_API_KEY"]}
    address = f"{os.environ['GOOGLE_GEMINI_BASE_URL'].rstrip('/')}/v1beta/models/{options['model']}:generateContent"
    answer = _post(address, headers, body)
    try:
        parts = answer["candidates"][0].get("content", {}).get("parts", [])
        text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
        functions = [part["functionCall"] for part in parts if "functionCall" in part]
        calls = [{"name": each["name"], "args": each.get("args", {})} for each in functions]
    except (KeyError, TypeError, IndexError, AttributeError):
        raise AnswerError("the model's answer is not one of Gemini's") from None
    return _reply(text, calls)


def _ask_converse(options: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    request = dict(options.get("request", {}))
    settings = {**request.pop("inferenceConfig", {}), "maxTokens": options["max_output_tokens"]}
    system, others = _apart(messages)
    body = {
        "messages": [{"role": each["role"], "content": _blocks(each["content"])} for each in others],
        **({"system": [{"text": system}]} if system else {}),
        "inferenceConfig": {**settings, **_temperature(options)},
        **request,
    }
    # The gateway reads who signed, and checks no signature.
    headers = {"Authorization": f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/"}
    base = os.environ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"].rstrip("/")
    answer = _post(f"{base}/model/{quote(options['model'], safe='')}/converse", headers, body)
    try:
        blocks = answer["output"]["message"]["content"]
        text = "".join(block["text"] for block in blocks if "text" in block)
        uses = [block["toolUse"] for block in blocks if "toolUse" in block]
        calls = [{"name": each["name"], "args": each["input"]} for each in uses]
    except (KeyError, TypeError):
        raise AnswerError("the model's answer is not one of Converse") from None
    return _reply(text, calls)


_ASK = {"anthropic": _ask_anthropic, "openai": _ask_openai, "gemini": _ask_gemini, "converse": _ask_converse}


def _apart(messages: list[Message]) -> tuple[str, list[Message]]:
    """The text of the system's messages, and the others."""
    system = "\n\n".join(str(each["content"]) for each in messages if each["role"] == "system")
    return system, [each for each in messages if each["role"] != "system"]


def _blocks(content: Any) -> list[dict[str, str]]:
    """Texts as Gemini and Bedrock list them."""
    listed = content if isinstance(content, list) else [{"type": "text", "text": content}]
    if not all(isinstance(each, dict) and isinstance(each.get("text"), str) for each in listed):
        raise AnswerError("a message of this prompt has content that is not text")
    return [{"text": each["text"]} for each in listed]


def _reply(text: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {"text": text, "tool_calls": calls} if calls else {"text": text}


def _temperature(options: dict[str, Any]) -> dict[str, Any]:
    return {} if options["temperature"] is None else {"temperature": options["temperature"]}


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    return {**_temperature(options), **options.get("request", {})}


def _post(address: str, headers: dict[str, str], body: dict[str, Any]) -> Any:
    content = json.dumps(body).encode("ascii")
    return decode(call("POST", address, {**headers, "Content-Type": "application/json"}, content), "the model")
