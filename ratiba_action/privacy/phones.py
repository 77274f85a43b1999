"""Kenyan mobile numbers in their usual spellings."""

import re
from typing import Any

_LOOSE = re.compile(r"(?<![\w+])(?:\+?254|0)[\s\-()]*(?:[17])(?:[\s\-.()]*\d){8}(?!\d)")
_CANONICAL = re.compile(r"(?:\+?254|0)?([17]\d{8})")


def normalise_phone(value: Any) -> str | None:
    """A Kenyan mobile number as ``+2547XXXXXXXX`` or ``+2541XXXXXXXX``, None when it is not one.

    Reads ``07…``, ``01…``, ``+254…``, ``254…`` and ``7…``, with spaces, dashes, dots or brackets anywhere.
    """
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    digits = re.sub(r"[\s\-.()]", "", str(value))
    digits = digits.replace("+2540", "+254", 1) if digits.startswith("+2540") else digits
    match = _CANONICAL.fullmatch(digits)
    return f"+254{match[1]}" if match and digits.isascii() else None


def find_phones(text: str) -> frozenset[str]:
    """Every Kenyan mobile number in a text, normalised."""
    numbers = (normalise_phone(match[0]) for match in _LOOSE.finditer(text))
    return frozenset(number for number in numbers if number)
