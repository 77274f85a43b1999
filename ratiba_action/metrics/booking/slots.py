"""Slots that a message names: a time of day with the day that belongs to it, in Swahili, English or both.

The Swahili day is counted from sunrise and sunset: the clock hour is the international hour less six, so that
``saa moja asubuhi`` (hour one of the morning) is 07:00 and ``saa moja usiku`` (hour one of the night) is 19:00.
A part of the day distinguishes the two halves, as grammars of Swahili teach it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from ratiba_action.util.comparable import unicode_form

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
        spoken = {time(hour, minute)}
        if 0 < hour < _HALF_DAY and not match["hour"].startswith("0"):
            spoken.add(time(hour + _HALF_DAY, minute))
        yield ClockTime(frozenset(spoken), *match.span())
    for match in _NOON.finditer(text):
        yield ClockTime(frozenset({time(_HALF_DAY)}), *match.span())


def _swahili(text: str, start: int) -> bool:
    """Whether the digits follow ``saa``, which the Swahili clock reads."""
    return text[max(0, start - 6) : start].lower().rstrip().endswith("saa")


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


_RANGE = re.compile(
    r"\b(?:hadi|mpaka|kati\s+ya|baada\s+ya|kabla\s+ya|kuanzia|between|until|till|after|before|from)\b", re.IGNORECASE
)
_GLOSS = re.compile(r"\s*[(,=/]?\s*(?:yaani|i\.e\.)?\s*\(?\s*")


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot as a message words it.

    Args:
        times: times of day that it may mean; empty when a gloss contradicts it, as in "saa nane mchana (08:00)".
        dates: dates that it may mean; empty when the message names no day.
        firm: the message means exactly this; not a range, a duration or an hour without its half of the day.
        words: the message's own words for the time.
    """

    times: frozenset[time]
    dates: frozenset[date]
    firm: bool
    words: str

    def fits(self, moment: datetime) -> bool:
        """Whether the words can mean this moment."""
        return moment.time().replace(second=0, microsecond=0) in self.times and (
            not self.dates or moment.date() in self.dates
        )


def find_slots(text: str, now: datetime) -> tuple[Slot, ...]:
    """Every slot in a message, in order.

    Args:
        now: the scenario's clock; relative days count from its date, in its time zone.
    """
    text = unicode_form(text)
    clocks = _merge_glosses(text, sorted([*swahili_times(text), *english_times(text)], key=lambda clock: clock.start))
    days = _merge_days(text, find_days(text, now.date()))
    vague = _RANGE.search(text) is not None
    return tuple(
        Slot(clock.times, _day_of(clock, days), clock.firm and not vague, text[clock.start : clock.end])
        for clock in clocks
    )


def find_dates(text: str, now: datetime) -> tuple[frozenset[date], ...]:
    """Every day in a message, each as the dates that it may mean."""
    text = unicode_form(text)
    return tuple(day.dates for day in _merge_days(text, find_days(text, now.date())))


def _merge_glosses(text: str, clocks: list[ClockTime]) -> list[ClockTime]:
    """One clock time for two that stand side by side: "saa nane mchana (14:00)" says one thing twice."""
    merged: list[ClockTime] = []
    for clock in clocks:
        last = merged[-1] if merged else None
        if last is not None and clock.start < last.end:
            continue
        if last is not None and _is_gloss(text, last, clock):
            times = last.times & clock.times if last.firm or last.times & clock.times else clock.times
            merged[-1] = ClockTime(times, last.start, clock.end)
        else:
            merged.append(clock)
    return merged


def _is_gloss(text: str, last: ClockTime, clock: ClockTime) -> bool:
    between = text[last.end : clock.start]
    return "(" in between and _GLOSS.fullmatch(between) is not None


def _merge_days(text: str, days: tuple[Day, ...]) -> list[Day]:
    """One day for names that stand side by side: "kesho Jumapili 26 Aprili" says one day three times.

    A date with its month settles what a weekday beside it means: "Saturday 13 June" need not be the coming Saturday.
    """
    merged: list[Day] = []
    for day in days:
        last = merged[-1] if merged else None
        if last is not None and day.start < last.end:
            continue
        if last is not None and re.fullmatch(r"[\s,(]*(?:tarehe|ya|the|on)?[\s,(]*", text[last.end : day.start]):
            shared = last.dates & day.dates or _explicit(last, day) or last.dates | day.dates
            merged[-1] = Day(shared, last.start, day.end, last.explicit or day.explicit)
        else:
            merged.append(day)
    return merged


def _explicit(first: Day, second: Day) -> frozenset[date]:
    return frozenset().union(*(day.dates for day in (first, second) if day.explicit))


def _day_of(clock: ClockTime, days: list[Day]) -> frozenset[date]:
    """The dates of the day named last before the time, else of the first one named after it."""
    before = bisect_left(days, clock.start, key=lambda day: day.start)
    return days[max(0, before - 1)].dates if days else frozenset()
