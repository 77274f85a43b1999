"""What the messages of a conversation say about its last turn."""

from __future__ import annotations

import json
from typing import Any

from .reply_fields import fields_of, pick, plain


class TurnMessages:
    """Separates new messages from those of earlier turns.

    Args:
        key: path of the list of messages.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._seen: set[str] = set()
        self._count = 0
        self._reported: set[str] = set()

    def reply(self, values: Any, places: dict[str, str], *, unfinished: bool = False) -> dict[str, Any]:
        """The fields of a reply that messages and configured places give; without ``text`` where nobody said one.

        Args:
            places: for each configured field the path of its value.
            unfinished: whether the turn stopped before its tools ran.

        Raises:
            AdapterError: a configured field cannot be read.
        """
        messages = pick(values, self._key)
        fields = self._fields(messages, unfinished=unfinished) if isinstance(messages, (list, tuple)) else {}
        return {**fields, **fields_of(values, places)}

    def _fields(self, messages: Any, *, unfinished: bool) -> dict[str, Any]:
        messages = list(messages)
        new = [message for place, message in enumerate(messages) if self._is_new(place, message)]
        self._seen |= {str(identifier) for identifier in map(_identifier, messages) if identifier}
        self._count = len(messages)
        text = last_text(new)
        return {
            **({} if text is None else {"text": text}),
            "tool_calls": tool_calls_of(messages, self._reported, unfinished=unfinished),
            "events": invalid_calls_of(new),
        }

    def _is_new(self, place: int, message: Any) -> bool:
        identifier = _identifier(message)
        return str(identifier) not in self._seen if identifier else place >= self._count


def _identifier(message: Any) -> Any:
    return message.get("id") if isinstance(message, dict) else getattr(message, "id", None)


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
