"""English and 24-hour clock times in running text."""

import re
from collections.abc import Iterator
from datetime import time

from ratiba_action.metrics.booking.swahili_time import ClockTime

_TWELVE = re.compile(
    r"(?<![\d:.,])(?P<hour>1[0-2]|0?[1-9])(?:[:.](?P<minute>[0-5]\d))?\s*"
    r"(?:(?P<half>[ap])\.?\s?m\b\.?"
    r"|(?:o'?clock\s+)?in\s+the\s+(?P<part>morning|afternoon|evening)\b|(?:o'?clock\s+)?(?P<night>at\s+night)\b)",
    re.IGNORECASE,
)
_DIGITS = re.compile(
    r"(?<![\d:.,/-])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?![\d:]|\s*[ap]\.?m\b|\s*(?:noon|midday)\b)",
    re.IGNORECASE,
)
_NOON = re.compile(r"(?<!\w)(?:12(?::00)?\s+)?(?:noon|midday)\b", re.IGNORECASE)
_HALF_DAY = 12


def english_times(text: str) -> Iterator[ClockTime]:
    """Every English or 24-hour clock time in a text: ``2pm``, ``2:30 p.m.``, ``9 in the morning``, ``14:00``, noon.

    ``2:30`` alone may be 02:30 or 14:30; ``02:30`` and ``14:30`` mean what they say. ``at 3`` is left out.
    """
    for match in _TWELVE.finditer(text):
        hour, minute = int(match["hour"]) % _HALF_DAY, int(match["minute"] or 0)
        late = (match["half"] or "").lower() == "p" or (match["part"] or "").lower() in {"afternoon", "evening"}
        if match["night"]:
            late = hour >= 6  # noqa: PLR2004 — "at night" ends with the small hours
        yield ClockTime(frozenset({time(hour + _HALF_DAY * late, minute)}), *match.span())
    for match in _DIGITS.finditer(text):
        if _swahili(text, match.start()):
            continue
        hour, minute = int(match["hour"]), int(match["minute"])
        said = {time(hour, minute)}
        if 0 < hour < _HALF_DAY and not match["hour"].startswith("0"):
            said.add(time(hour + _HALF_DAY, minute))
        yield ClockTime(frozenset(said), *match.span())
    for match in _NOON.finditer(text):
        yield ClockTime(frozenset({time(_HALF_DAY)}), *match.span())


def _swahili(text: str, start: int) -> bool:
    """Whether the digits follow ``saa``, which the Swahili clock reads."""
    return text[max(0, start - 6) : start].lower().rstrip().endswith("saa")
