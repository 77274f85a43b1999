"""JSON of a system under test, in which no key stands twice: of two texts of one reply, nobody knows which is meant."""

from __future__ import annotations

import json
from typing import Any


class DuplicateKeyError(ValueError):
    """An object has a key twice; the message names it."""


def read_json(content: bytes | str) -> Any:
    """Read JSON.

    Raises:
        DuplicateKeyError: an object of it has a key twice.
        ValueError: it is none.
        RecursionError: it is nested too deeply.
    """
    return json.loads(content, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise DuplicateKeyError(f"the key {name[:80]!r} twice")
        found[name] = value
    return found
