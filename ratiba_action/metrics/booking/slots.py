"""Slots that a message names: a time of day with the day that belongs to it, in Swahili, English or both."""

import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import date, datetime, time

from ratiba_action.metrics.booking.day_words import Day, find_days
from ratiba_action.metrics.booking.english_time import english_times
from ratiba_action.metrics.booking.swahili_time import ClockTime, swahili_times

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
        text: the message.
        now: the scenario's clock; relative days count from its date, in its time zone.
    """
    clocks = _merge_glosses(text, sorted([*swahili_times(text), *english_times(text)], key=lambda clock: clock.start))
    days = _merge_days(text, find_days(text, now.date()))
    vague = _RANGE.search(text) is not None
    return tuple(
        Slot(clock.times, _day_of(clock, days), clock.firm and not vague, text[clock.start : clock.end])
        for clock in clocks
    )


def find_dates(text: str, now: datetime) -> tuple[frozenset[date], ...]:
    """Every day in a message, each as the dates that it may mean."""
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


def _explicit(one: Day, other: Day) -> frozenset[date]:
    return frozenset().union(*(day.dates for day in (one, other) if day.explicit))


def _day_of(clock: ClockTime, days: list[Day]) -> frozenset[date]:
    """The dates of the day named last before the time, else of the first one named after it."""
    before = bisect_left(days, clock.start, key=lambda day: day.start)
    return days[max(0, before - 1)].dates if days else frozenset()
