"""What frameworks hold, as plain JSON values."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from datetime import date, datetime
from typing import Any


def plain(value: Any) -> Any:
    """The value with models, dataclasses, enumerations and dates turned into what JSON has words for.

    What is none of these is returned as it is: the gate refuses it and names its place.
    """
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _own_words(value)


def _own_words(value: Any) -> Any:
    """What a Pydantic model or a number of NumPy's says of itself."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    scalar = getattr(value, "item", None)
    return scalar() if callable(scalar) and getattr(value, "shape", None) == () else value


def pick(values: Any, path: str) -> Any:
    """What stands at a path of keys, attributes or list indexes, ``orders[0].status``; None where nothing does."""
    found = values
    for step in steps_of(path):
        if isinstance(step, int):
            inside = isinstance(found, (list, tuple)) and -len(found) <= step < len(found)
            found = found[step] if inside else None
        else:
            found = found.get(step) if isinstance(found, dict) else getattr(found, step, None)
    return found


def steps_of(path: str) -> list[str | int]:
    """The names and indexes of a path, which the gate has checked."""
    steps = re.findall(r'\[(-?[0-9]+)\]|("(?:[^"\\]|\\.)*")|([A-Za-z_][A-Za-z0-9_]*)', path)
    return [int(index) if index else json.loads(quoted) if quoted else name for index, quoted, name in steps]
