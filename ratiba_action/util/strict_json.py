"""What Python's ``json`` reads and JSON does not have, or readers do not agree on: hooks that refuse it."""

import math
from collections import Counter
from typing import Any, NoReturn


def refuse_constant(name: str) -> NoReturn:
    """For ``parse_constant``: ``NaN`` and the infinities are no JSON (RFC 8259 §6).

    Raises:
        ValueError: always, with the name.
    """
    raise ValueError(f"{name} is not a JSON number")


def finite_number(written: str) -> float:
    """For ``parse_float``: a number that a float can hold.

    Raises:
        ValueError: it is too large, as ``1e999`` is.
    """
    value = float(written)
    if math.isinf(value):
        raise ValueError(f"{written[:80]!r} is too large a number")
    return value


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For ``object_pairs_hook``: an object in which no key stands twice, since readers do not agree on which counts.

    Raises:
        ValueError: one does, with its name.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, number in Counter(name for name, _ in pairs).items() if number > 1)
        raise ValueError(f"duplicate key {twice!r:.80}")
    return found
