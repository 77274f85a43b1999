"""What Python's ``json`` reads as a number and JSON does not have: hooks that refuse it."""

import math
from typing import NoReturn


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
