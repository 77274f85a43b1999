"""What frameworks hold, as plain JSON values."""

from __future__ import annotations

import dataclasses
import enum
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
    """What stands at a path of keys, attributes or list indexes, ``order.status``; None where nothing does."""
    found = values
    for name in path.split("."):
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, (list, tuple)) and name.lstrip("-").isdigit():
            found = found[int(name)] if -len(found) <= int(name) < len(found) else None
        else:
            found = getattr(found, name, None)
    return found
