"""Days that a text names in Swahili, English or digits, resolved from a given today."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

_RELATIVE: Mapping[str, int] = {
    r"kesho\s*kutwa|keshokutwa|the\s+day\s+after\s+tomorrow|day\s+after\s+tomorrow": 2,
    r"kesho(?!\s*kutwa)|(?<!after )tomorrow|tmrw|tomoro+w": 1,
    r"leo|today|tonight": 0,
}
_WEEKDAYS: tuple[str, ...] = (
    r"jumatatu|monday",
    r"jumanne|tuesday",
    r"jumatano|wednesday",
    r"alhamisi|thursday",
    r"ijumaa|friday",
    r"jumamosi|saturday",
    r"jumapili|sunday",
)
_MONTHS: tuple[str, ...] = (
    r"januari|january|jan", r"februari|february|feb", r"machi|march|mar", r"aprili|april|apr", r"mei|may",
    r"juni|june|jun", r"julai|july|jul", r"agosti|august|aug", r"septemba|september|sept?", r"oktoba|october|oct",
    r"novemba|november|nov", r"desemba|december|dec",
)  # fmt: skip
_MONTH = "|".join(_MONTHS)
_WEEK = 7
_NEXT = re.compile(r"(?:next|ijayo|lijalo)\b", re.IGNORECASE)
_NEXT_WEEK = re.compile(r"wiki\s+(?:ijayo|lijalo)|next\s+week", re.IGNORECASE)
_NAMED = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<month>{_MONTH})"
    rf"|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?)\b(?![:.]\d)(?:,?\s+(?P<year>20\d\d)\b)?",
    re.IGNORECASE,
)
_ISO = re.compile(r"(?<!\d)(?P<year>20\d\d)-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)")
_SLASHED = re.compile(r"(?<![\d/])(?P<day>\d{1,2})/(?P<month>\d{1,2})(?:/(?P<year>20\d\d))?(?![\d/])")


@dataclass(frozen=True, slots=True)
class Day:
    """A day that a text names: the dates it may mean, where it stands, and whether it names the month."""

    dates: frozenset[date]
    start: int
    end: int
    explicit: bool = False


def find_days(text: str, today: date) -> tuple[Day, ...]:
    """Every day that a text names, in order.

    A weekday may be today's or the next one; ``next Tuesday`` and ``Jumanne ijayo`` may be the coming one or that of
    the week after; with ``wiki ijayo`` or ``next week`` in the text it is that of next week (from Monday).
    """
    found = [*_relative(text, today), *_weekdays(text, today), *_dates(text, today)]
    return tuple(sorted(found, key=lambda day: day.start))


def _relative(text: str, today: date) -> Iterator[Day]:
    for pattern, days in _RELATIVE.items():
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE):
            yield Day(frozenset({today + timedelta(days)}), *match.span())


def _weekdays(text: str, today: date) -> Iterator[Day]:
    next_week = _NEXT_WEEK.search(text)
    for number, pattern in enumerate(_WEEKDAYS):
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE):
            coming = today + timedelta((number - today.weekday()) % _WEEK)
            monday = today - timedelta(today.weekday()) + timedelta(_WEEK)
            around = text[max(0, match.start() - 6) : match.end() + 8]
            if next_week:
                dates = {monday + timedelta(number)}
            elif coming == today or _NEXT.search(around):
                dates = {coming, coming + timedelta(_WEEK)}
            else:
                dates = {coming}
            yield Day(frozenset(dates), *match.span())


def _dates(text: str, today: date) -> Iterator[Day]:
    for match in _NAMED.finditer(text):
        word = (match["month"] or match["month2"]).lower()
        month = next(n for n, names in enumerate(_MONTHS, 1) if re.fullmatch(names, word))
        yield from _day(match, int(match["day"] or match["day2"]), month, today)
    for pattern in (_ISO, _SLASHED):
        for match in pattern.finditer(text):
            yield from _day(match, int(match["day"]), int(match["month"]), today)


def _day(match: re.Match[str], day: int, month: int, today: date) -> Iterator[Day]:
    """The date in the named year, else this year's or, when that is past, next year's."""
    try:
        if match["year"]:
            found = date(int(match["year"]), month, day)
        else:
            found = date(today.year, month, day)
            found = found if found >= today else date(today.year + 1, month, day)
    except ValueError:
        return
    yield Day(frozenset({found}), *match.span(), explicit=True)
