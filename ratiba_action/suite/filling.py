"""``${column}`` in the texts of a scenario, filled from a row."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.suite.case_ids import HISTORY
from ratiba_action.util.strict_yaml import Path
from ratiba_action.util.validation import shorten

_MESSAGES = 'give a list of {"role": "user" or "assistant", "content": text}, or leave it out'
_PLACE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")


class FillingError(ValueError):
    """A row cannot fill the scenario; says why."""


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Each column that is named in a value, keys included, with the path of the text that names it.

    Args:
        value: plain data.
        path: of the value.
    """
    if isinstance(value, str):
        yield from ((path, match[1]) for match in _PLACE.finditer(value) if match[1] is not None)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from ((path, match[1]) for match in _PLACE.finditer(key) if match[1] is not None)
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def earlier_turns(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """A turn for each message of the customer in a row's ``history``; what was answered then is not said again.

    Args:
        row: values by column; of a CSV file, whose cells are texts, the history is JSON.

    Raises:
        FillingError: it is no list of messages.
    """
    history = row.get(HISTORY)
    if isinstance(history, str) and history.strip():
        try:
            history = json.loads(history)
        except (ValueError, RecursionError):
            raise FillingError(f"the column {HISTORY!r} is {shorten(history)}; {_MESSAGES}") from None
    messages = history or []
    if not (isinstance(messages, list) and all(_is_message(one) for one in messages)):
        raise FillingError(f"the column {HISTORY!r} is {shorten(history)}; {_MESSAGES}")
    return [{"user": one["content"]} for one in messages if one["role"] == "user"]


def _is_message(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    content = value.get("content")
    return value.get("role") in {"user", "assistant"} and isinstance(content, str) and bool(content.strip())


def fill(value: Any, row: Mapping[str, Any]) -> Any:
    """The value with its columns filled.

    A text that is one column takes the row's value with its type; in a longer text it is written out. ``$${`` stands
    for ``${``.

    Args:
        value: plain data.
        row: values by column.

    Raises:
        FillingError: the row lacks a column, a list is to stand inside a text, or two keys become one.
    """
    if isinstance(value, str):
        return _fill_text(value, row)
    if isinstance(value, Mapping):
        filled = {_written(key, row): fill(item, row) for key, item in value.items()}
        if len(filled) < len(value):
            raise FillingError(f"two of the keys {', '.join(map(shorten, value))} become the same")
        return filled
    return [fill(item, row) for item in value] if isinstance(value, list) else value


def _fill_text(text: str, row: Mapping[str, Any]) -> Any:
    if "$" not in text:
        return text
    whole = _PLACE.fullmatch(text)
    if whole is not None and whole[1] is not None:
        return _value(whole[1], row)
    return _written(text, row)


def _written(text: str, row: Mapping[str, Any]) -> str:
    if "$" not in text:
        return text
    return _PLACE.sub(lambda match: "${" if match[1] is None else _text(match[1], row), text)


def _text(column: str, row: Mapping[str, Any]) -> str:
    value = _value(column, row)
    if value is None or isinstance(value, (dict, list)):
        raise FillingError(f"the column {column!r} is {shorten(value)}, which cannot stand inside a text")
    return value if isinstance(value, str) else json.dumps(value)


def _value(column: str, row: Mapping[str, Any]) -> Any:
    if column not in row:
        raise FillingError(f"the row has no column {column!r}")
    return row[column]
