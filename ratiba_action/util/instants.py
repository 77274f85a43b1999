"""Points in time as they come in tool calls and database rows, read by the rules of a scenario's time zone.

A text without an offset is local time. What moment it is depends on the zone: where clocks are put forward it may not
exist, where they are put back it exists twice. A scenario that gives only an offset does not say which zone it is in:
the home zone of its language counts if it has that offset, otherwise every zone with it does, and a text that they read
differently is unclear.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.scenario import Scenario
from ratiba_action.util.text import did_you_mean

# One zone of each set of rules in tzdata 2026 that changes its clocks from 2026 on; no other zone changes them.
CHANGING = (
    "Africa/Cairo", "Africa/Casablanca", "America/Adak", "America/Anchorage", "America/Chicago", "America/Denver",
    "America/Halifax", "America/Havana", "America/Los_Angeles", "America/Miquelon", "America/New_York", "America/Nuuk",
    "America/Santiago", "America/Scoresbysund", "America/St_Johns", "Antarctica/Troll", "Asia/Beirut", "Asia/Gaza",
    "Asia/Jerusalem", "Atlantic/Azores", "Australia/Adelaide", "Australia/Lord_Howe", "Australia/Sydney",
    "Europe/Athens", "Europe/Chisinau", "Europe/London", "Europe/Paris", "Pacific/Auckland", "Pacific/Chatham",
    "Pacific/Easter", "Pacific/Norfolk",
)  # fmt: skip
# Zones that change their clocks and are the only such rules in the region where a language is most likely spoken (CLDR,
# likely subtags). Languages of regions with several such zones, such as English and Portuguese, are not among them.
_HOMES = {
    "bg": "Europe/Sofia", "bs": "Europe/Sarajevo", "ca": "Europe/Madrid", "cs": "Europe/Prague",
    "da": "Europe/Copenhagen", "de": "Europe/Berlin", "el": "Europe/Athens", "es": "Europe/Madrid",
    "et": "Europe/Tallinn", "eu": "Europe/Madrid", "fi": "Europe/Helsinki", "fr": "Europe/Paris",
    "ga": "Europe/Dublin", "gl": "Europe/Madrid", "he": "Asia/Jerusalem", "hr": "Europe/Zagreb",
    "hu": "Europe/Budapest", "it": "Europe/Rome", "lt": "Europe/Vilnius", "lv": "Europe/Riga", "mk": "Europe/Skopje",
    "mt": "Europe/Malta", "nb": "Europe/Oslo", "nl": "Europe/Amsterdam", "nn": "Europe/Oslo", "no": "Europe/Oslo",
    "pl": "Europe/Warsaw", "ro": "Europe/Bucharest", "sk": "Europe/Bratislava", "sl": "Europe/Ljubljana",
    "sq": "Europe/Tirane", "sr": "Europe/Belgrade", "sv": "Europe/Stockholm", "uk": "Europe/Kyiv",
}  # fmt: skip
NAME_THE_ZONE = "Give `now` the scenario's time zone, and let the system write times with their offset."
_MIN = len("2026-04-26T14")
_ZONE_BESIDE_OFFSET = re.compile(r"(?<=[Z\d])\[[^\[\]]{1,80}\](?:\[u-ca=[^\[\]]{1,40}\])?\Z")
"""RFC 9557, as Java and JavaScript write a time with its zone."""


@cache
def zone_names() -> frozenset[str]:
    """Every name of the IANA time zone database."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="ascii").split())


def zone_problem(name: str) -> str | None:
    """What is wrong with the name of a time zone; None where it is one of the IANA database."""
    if name in zone_names():
        return None
    question = did_you_mean(name, zone_names())
    return f"{name!r:.80} is no IANA time zone such as Europe/Paris" + (f"; {question}" if question else "")


@dataclass(frozen=True, slots=True)
class LocalTime:
    """What texts without an offset mean in a scenario.

    Args:
        now: the scenario's clock; aware.
        timezone: IANA name of its zone; empty where only the offset of ``now`` is known.
    """

    now: datetime
    timezone: str = ""

    def readings(self, wall: datetime) -> tuple[datetime, ...]:
        """The moments that a local time may be, each with its offset; none where it does not exist."""
        moments = {moment for zone in self._zones() for moment in _moments(wall, zone)}
        return tuple(sorted(moments))

    def local(self, moment: datetime) -> tuple[datetime, ...]:
        """The local times that an aware moment may be, each with its offset; none at the edge of the calendar."""
        found = {at.replace(tzinfo=None): at for zone in self._zones() if (at := _at(moment, zone)) is not None}
        return tuple(found[wall] for wall in sorted(found))

    def _zones(self) -> tuple[tzinfo, ...]:
        if self.timezone:
            return (ZoneInfo(self.timezone),)
        return _zones_with(self.now.astimezone(UTC), self.now.utcoffset() or timedelta(0))

    def describe(self, wall: datetime) -> str:
        """Why a local time is no single moment, with its readings; empty where it is one."""
        found = self.readings(wall)
        if len(found) == 1:
            return ""
        shown = f"{wall.isoformat()}"
        if not found:
            first, last = (_spelled(at) for at in _around_gap(wall, ZoneInfo(self.timezone)))
            return f"{shown} does not exist in {self.timezone}, where clocks go forward: write {first} or {last}"
        readings = " or ".join(map(_spelled, found))
        if self.timezone:
            return f"{shown} exists twice in {self.timezone}, where clocks go back: write {readings}"
        return f"{shown} is {readings}: name the time zone in `now`, as in `2026-03-27T10:00 Europe/Paris`"


@lru_cache(maxsize=1_024)
def _zones_with(now: datetime, offset: timedelta) -> tuple[tzinfo, ...]:
    """The offset itself, and the zones that change their clocks and have it now."""
    changing = (ZoneInfo(name) for name in CHANGING)
    return (timezone(offset), *(zone for zone in changing if now.astimezone(zone).utcoffset() == offset))


def _moments(wall: datetime, zone: tzinfo) -> Iterator[datetime]:
    """The moments at which the clocks of a zone show a local time, with fixed offsets."""
    for fold in (0, 1):
        found = _fixed(wall.replace(tzinfo=zone, fold=fold))
        back = None if found is None else _at(found, zone)
        if found is not None and back is not None and back.replace(tzinfo=None) == wall.replace(fold=0):
            yield found


def _around_gap(wall: datetime, zone: tzinfo) -> Iterator[datetime]:
    """A local time that does not exist, read with the offset after and before the change."""
    for fold in (1, 0):
        found = _fixed(wall.replace(tzinfo=zone, fold=fold))
        if found is not None:
            yield _at(found, zone) or found


def _fixed(moment: datetime) -> datetime | None:
    """The same with a fixed offset: Python compares times of one ZoneInfo by the clock and not by the moment."""
    try:
        return moment.replace(tzinfo=timezone(moment.utcoffset() or timedelta(0)), fold=0)
    except (OverflowError, ValueError):
        return None


def _at(moment: datetime, zone: tzinfo) -> datetime | None:
    try:
        return _fixed(moment.astimezone(UTC).astimezone(zone))
    except (OverflowError, ValueError):
        return None


def _spelled(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes" if not moment.second else "auto")


def clock_of(scenario: Scenario) -> LocalTime:
    """What texts without an offset mean in a scenario; by its language where ``now`` has only an offset."""
    return LocalTime(scenario.now, scenario.timezone or home_zone(scenario))


def home_zone(scenario: Scenario) -> str:
    """The zone of a scenario that names none, by its language and the offset of ``now``; empty if unknown."""
    zone = "" if scenario.timezone else _HOMES.get(scenario.language, "")
    fits = zone and scenario.now.astimezone(ZoneInfo(zone)).utcoffset() == scenario.now.utcoffset()
    return zone if fits else ""


def parse_time(value: Any) -> datetime | None:
    """A date and time from ISO 8601 text, aware only if it has an offset; None when the value is not one."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or len(value) < _MIN:
        return None
    text = value.strip()
    plain = _ZONE_BESIDE_OFFSET.sub("", text)
    try:
        found = datetime.fromisoformat(plain)
    except ValueError:
        return None
    # Without an offset the zone alone would decide, and it may be another than the scenario's.
    return found if plain == text or found.tzinfo is not None else None


def parse_instant(value: Any, clock: LocalTime) -> datetime | None:
    """A moment with the local time of a scenario; None when the value is not one.

    Args:
        value: such as ``2026-04-26T14:00:00+03:00``, or without an offset.

    Raises:
        ConfigurationError: it is unclear, and says why.
    """
    found = parse_time(value)
    if found is None:
        return None
    readings = clock.readings(found) if found.tzinfo is None else clock.local(found)
    if len(readings) > 1 or (not readings and found.tzinfo is None):
        why = clock.describe(found) if found.tzinfo is None else _two_clocks(found, readings)
        raise ConfigurationError(
            f"A time of the conversation is unclear: {why}.",
            NAME_THE_ZONE,
        )
    return readings[0] if readings else None


def _two_clocks(moment: datetime, readings: tuple[datetime, ...]) -> str:
    shown = " or ".join(reading.strftime("%H:%M") for reading in readings)
    return f"{_spelled(moment)} is {shown} local time, and `now` names no time zone"


def same_value(expected: Any, got: Any, clock: LocalTime) -> bool:
    """Whether ``got`` holds all of ``expected``: objects by subset, lists by element, times by the moment.

    Two local times are compared as they are; a local time equals a moment only if it can be no other one.
    """
    if isinstance(expected, dict):
        return isinstance(got, dict) and all(
            key in got and same_value(value, got[key], clock) for key, value in expected.items()
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(got, list | tuple)
            and len(expected) == len(got)
            and all(same_value(first, second, clock) for first, second in zip(expected, got, strict=True))
        )
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    return expected == got or _same_time(parse_time(expected), parse_time(got), clock)


def _same_time(expected: datetime | None, got: datetime | None, clock: LocalTime) -> bool:
    if expected is None or got is None:
        return False
    if (expected.tzinfo is None) == (got.tzinfo is None):
        return expected == got
    local, moment = (expected, got) if expected.tzinfo is None else (got, expected)
    return clock.readings(local) == (moment,)


def unclear_time(expected: Any, got: Any, clock: LocalTime) -> str:
    """Why a local time cannot be compared with a moment somewhere in two values; empty where none is."""
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        pairs = [(value, got[key]) for key, value in expected.items() if key in got]
    elif isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        pairs = list(zip(expected, got, strict=False))
    else:
        first, second = parse_time(expected), parse_time(got)
        if first is None or second is None or (first.tzinfo is None) == (second.tzinfo is None):
            return ""
        return clock.describe(first if first.tzinfo is None else second)
    return next(filter(None, (unclear_time(first, second, clock) for first, second in pairs)), "")


def local_times(value: Any) -> Iterator[datetime]:
    """Every time without an offset in a value, in order."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from local_times(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from local_times(part)
    elif (found := parse_time(value)) is not None and found.tzinfo is None:
        yield found


def unclear_times(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Each expected time that ``now`` alone does not make one moment: its line, and why with the readings."""
    clock = LocalTime(scenario.now, scenario.timezone)
    for turn in scenario.turns:
        expect = turn.expect
        for value in (*(tool.args for tool in expect.tools or ()), *(event.data for event in expect.events)):
            yield from ((turn.line, why) for wall in local_times(value) if (why := clock.describe(wall)))
    for rows in (*scenario.rows, *(rows for turn in scenario.turns for rows in turn.expect.rows)):
        for wall in local_times([rows.where, rows.equals]):
            if why := clock.describe(wall):
                yield rows.line, why
