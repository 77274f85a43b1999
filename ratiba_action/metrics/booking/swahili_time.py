"""Swahili clock times in running text.

The Swahili day is counted from sunrise and sunset: the clock hour is the international hour less six, so that
``saa moja asubuhi`` (hour one of the morning) is 07:00 and ``saa moja usiku`` (hour one of the night) is 19:00.
A part of the day tells the two halves apart, as grammars of Swahili teach it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import time

NUMBERS: Mapping[str, int] = {
    "moja": 1, "mbili": 2, "tatu": 3, "nne": 4, "tano": 5, "sita": 6,
    "saba": 7, "nane": 8, "tisa": 9, "kumi": 10, "kumi na moja": 11, "kumi na mbili": 12,
}  # fmt: skip

MINUTES: Mapping[str, int] = {
    "tano": 5, "kumi": 10, "kumi na tano": 15, "ishirini": 20, "ishirini na tano": 25,
}  # fmt: skip

PARTS: Mapping[str, tuple[int, int]] = {
    "alfajiri": (3, 7),
    "asubuhi": (5, 12),
    "mchana": (10, 17),
    "alasiri": (14, 18),
    "jioni": (15, 21),
    "usiku": (18, 29),
}
"""International hours that each part of the day covers, first included, last not; above 24 is after midnight."""

_HOUR = "|".join(sorted(NUMBERS, key=len, reverse=True))
_SPOKEN_MINUTE = "|".join(sorted(MINUTES, key=len, reverse=True))
_CLOCK = re.compile(
    rf"\bsaa\s+(?:ya\s+)?(?P<hour>{_HOUR}|\d{{1,2}})(?![\w])(?:[:.](?P<digits>[0-5]\d))?"
    rf"(?:\s+(?P<half>na\s+nusu|u\s+nusu)|\s+(?P<quarter>na\s+robo)"
    rf"|\s+(?P<less>kasoro\s+robo|kasorobo)"
    rf"|\s+(?P<sign>na|kasoro)\s+dakika\s+(?P<minutes>{_SPOKEN_MINUTE}|\d{{1,2}}))?"
    rf"(?:\s+(?:ya\s+|za\s+|kamili\s+|hivi\s+|ile\s+ya\s+)*(?P<part>{'|'.join(PARTS)})\b)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day that a text names.

    Args:
        times: what it may mean; more than one when no part of the day is named.
        start: where it begins in the text.
        end: where it ends.
        firm: it is a time of day for sure; ``saa moja`` alone may also be "one hour".
    """

    times: frozenset[time]
    start: int
    end: int
    firm: bool = True


def swahili_times(text: str) -> Iterator[ClockTime]:
    """Every Swahili clock time in a text, in order.

    ``saa nane mchana`` is 14:00; ``saa nane`` alone may be 02:00 or 14:00 and is not firm. An hour that the named
    part of the day does not have, such as ``saa nane asubuhi``, is left out rather than guessed.
    """
    for match in _CLOCK.finditer(text):
        hour = _hour(match["hour"])
        if hour is None:
            continue
        minutes = (hour % 24) * 60 + _offset(match)
        if match["hour"].isdigit() and int(match["hour"]) > 12:  # noqa: PLR2004 — "saa 14:00" is the 24-hour clock
            yield ClockTime(frozenset({_time(int(match["hour"]) * 60 + _offset(match))}), *match.span())
            continue
        readings = frozenset({_time(minutes), _time(minutes + 12 * 60)})
        part = match["part"]
        if part is None:
            yield ClockTime(readings, *match.span(), firm=False)
            continue
        first, last = PARTS[part.lower()]
        fitting = frozenset(
            reading
            for reading in readings
            if any(first <= reading.hour + reading.minute / 60 + day < last for day in (0, 24))
        )
        if fitting:
            yield ClockTime(fitting, *match.span())


def _hour(word: str) -> int | None:
    """The international hour, without its half of the day, of a Swahili hour."""
    if word.isdigit():
        number = int(word)
        return (number + 6) % 24 if number < 24 else None  # noqa: PLR2004 — hours of a day
    return NUMBERS[word.lower()] + 6


def _offset(match: re.Match[str]) -> int:
    if match["digits"]:
        return int(match["digits"])
    if match["half"]:
        return 30
    if match["quarter"]:
        return 15
    if match["less"]:
        return -15
    if match["minutes"]:
        spoken = match["minutes"].lower()
        number = int(spoken) if spoken.isdigit() else MINUTES[spoken]
        return number if match["sign"].lower() == "na" else -number
    return 0


def _time(minutes: int) -> time:
    return time(minutes // 60 % 24, minutes % 60)
