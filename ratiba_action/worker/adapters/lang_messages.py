"""What LangChain's messages say: their text and the tools that they call."""

from __future__ import annotations

import json
from typing import Any

from .plain_data import plain


def text_of(message: Any) -> str:
    """The text of a message, of its text blocks where it has several."""
    content = message if isinstance(message, str) else _field(message, "content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block if isinstance(block, str) else block.get("text") for block in blocks if _is_text(block)]
    return "".join(text for text in texts if isinstance(text, str))


def _is_text(block: Any) -> bool:
    return isinstance(block, str) or (isinstance(block, dict) and block.get("type") == "text")


def is_of_model(message: Any) -> bool:
    """Whether a model, or a node instead, said it."""
    return _field(message, "type") in ("ai", "AIMessageChunk") or _field(message, "role") in ("ai", "assistant")


def last_text(messages: list[Any]) -> str | None:
    """The last text that a model said; None where there is none."""
    texts = [text_of(message) for message in messages if is_of_model(message)]
    return next((text for text in reversed(texts) if text), "" if texts else None)


def tool_calls_of(messages: list[Any], reported: set[str], *, unfinished: bool) -> list[dict[str, Any]]:
    """The tool calls that were not reported before, each with its tool's output.

    Args:
        messages: of the whole conversation.
        reported: keys of the calls that are known; the new ones are added.
        unfinished: whether a call without an output is still to be made; it is then left for a later turn.
    """
    outputs = {_field(message, "tool_call_id"): message for message in messages if _field(message, "type") == "tool"}
    calls = []
    for place, message in enumerate(messages):
        for index, call in enumerate(_field(message, "tool_calls") or [] if is_of_model(message) else []):
            key = str(call.get("id") or f"{place}/{index}")
            answer = outputs.get(call.get("id"))
            if key in reported or (answer is None and unfinished):
                continue
            reported.add(key)
            output = None if answer is None else _decoded(text_of(answer))
            calls.append({"name": call["name"], "args": plain(call["args"]), "output": output})
    return calls


def invalid_calls_of(messages: list[Any]) -> list[dict[str, Any]]:
    """An event for each tool call whose arguments could not be read."""
    return [
        {"type": "invalid_tool_call", "data": {name: plain(call.get(name)) for name in ("name", "args", "error")}}
        for message in messages
        for call in _field(message, "invalid_tool_calls") or []
    ]


def _decoded(text: str) -> Any:
    """A tool's output: what its JSON holds where it is an object or a list, else the text."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _field(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)
