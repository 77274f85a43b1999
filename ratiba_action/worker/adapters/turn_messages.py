"""What the messages of a conversation say about its last turn."""

from __future__ import annotations

from typing import Any

from .lang_messages import invalid_calls_of, last_text, tool_calls_of
from .plain_data import pick
from .reply_fields import fields_of


class TurnMessages:
    """Tells new messages from those of earlier turns.

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
            values: the state after the turn.
            places: for each configured field the path of its value.
            unfinished: whether the turn stopped before its tools ran.

        Raises:
            AdapterError: a configured field cannot be read.
        """
        messages = pick(values, self._key)
        fields = self._said(messages, unfinished=unfinished) if isinstance(messages, (list, tuple)) else {}
        return {**fields, **fields_of(values, places)}

    def _said(self, messages: Any, *, unfinished: bool) -> dict[str, Any]:
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
