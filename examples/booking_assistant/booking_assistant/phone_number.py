"""Kenyan phone numbers in one spelling."""

import re

_KENYAN_MOBILE = re.compile(r"(?:\+?254|0)?([17]\d{8})")


def normalise_phone(text: str) -> str | None:
    """A Kenyan mobile number as ``+254712345678``; None when the text is no such number."""
    match = _KENYAN_MOBILE.fullmatch(re.sub(r"[\s().-]", "", text))
    return f"+254{match[1]}" if match else None


def mask_phone(phone: str) -> str:
    """All that a prompt may hold of a number: its last three digits."""
    return f"…{phone[-3:]}"
