"""The clock of a scenario file: ``now`` with its time zone, and expected times that its zone does not have once."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from ratiba_action.errors import FileProblem
from ratiba_action.model.scenario import DEFAULT_NOW
from ratiba_action.util.instants import LocalTime, local_times, zone_problem
from ratiba_action.util.strict_yaml import Path, YamlDocument

_NOW = re.compile(
    r"(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}\S*?)(?: (?P<zone>[A-Za-z]\S*)|\[(?P<suffix>[^\]]*)\])?"
)
_LIKE = "2026-03-27T10:00 Europe/Paris or 2026-04-25T10:00:00+03:00"


def read_now(text: Any, timezone: str | None) -> LocalTime:
    """The clock that a scenario gives, with a fixed offset.

    Args:
        text: such as ``2026-03-27T10:00 Europe/Paris``, with an offset, a zone or both, also as in RFC 9557.
        timezone: of the configuration, for a text that names none; empty without one, None where the configuration is
            not known: then a text without zone and offset is in UTC.

    Raises:
        ValueError: it is not such a text, its zone is not known, or the zone's clocks do not show that time once.
    """
    found = _NOW.fullmatch(text) if isinstance(text, str) else None
    moment = _moment(found["time"]) if found is not None else None
    if found is None or moment is None:
        raise ValueError(f"{text!r} is not a date and time such as {_LIKE}")
    named = found["zone"] or found["suffix"]
    if named and (problem := zone_problem(named)):
        raise ValueError(problem)
    if found["time"].endswith(("Z", "z")) and not named:
        return LocalTime(moment, "UTC")
    zone = named or timezone or ("UTC" if timezone is None and moment.tzinfo is None else "")
    if not zone and moment.tzinfo is None:
        shown = moment.isoformat()
        raise ValueError(f"{shown} has no time zone; write it as {shown} Europe/Paris or {shown}+03:00")
    return _in_zone(moment, zone) if zone else LocalTime(moment)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _in_zone(moment: datetime, zone: str) -> LocalTime:
    wall = moment.replace(tzinfo=None)
    clock = LocalTime(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC), zone)
    if moment.tzinfo is None and (problem := clock.describe(wall)):
        raise ValueError(problem)
    readings = clock.readings(wall)
    now = moment if moment.tzinfo is not None else readings[0]
    if now not in readings:
        shown = " or ".join(_offset(reading) for reading in clock.local(now))
        msg = f"{moment.isoformat()} has another offset than {zone}, where it is {shown} then; name the scenario's zone"
        raise ValueError(msg)
    return LocalTime(now, zone)


def _offset(moment: datetime) -> str:
    return f"{moment:%z}"[:3] + ":" + f"{moment:%z}"[3:5]


def local_now(moment: datetime, timezone: str) -> str:
    """A moment as a scenario writes it under ``now``.

    Args:
        moment: aware.
        timezone: IANA name.
    """
    return f"{moment.astimezone(ZoneInfo(timezone)).isoformat(timespec='seconds')} {timezone}"


def default_now(timezone: str | None) -> LocalTime:
    """The clock of a scenario that gives none: the same local time in every zone."""
    return read_now(f"{DEFAULT_NOW:%Y-%m-%dT%H:%M} {timezone or 'UTC'}", "")


def time_problems(document: YamlDocument, timezone: str | None) -> Iterator[FileProblem]:
    """Expected times that do not exist or exist twice in the scenario's time zone.

    Args:
        document: may be invalid; schema problems are reported elsewhere.
        timezone: as of ``read_now``.
    """
    data = document.data if isinstance(document.data, dict) else {}
    expected = list(_expected(data))
    if not expected:
        return
    try:
        clock = read_now(data["now"], timezone) if "now" in data else default_now(timezone)
    except ValueError:
        return
    if clock.timezone:
        for path, value in expected:
            for wall in local_times(value):
                if problem := clock.describe(wall):
                    yield FileProblem(document.name, document.line(path), problem)


def _expected(data: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """What times are compared in, with its place."""
    turns = data.get("turns")
    for index, turn in enumerate(turns if isinstance(turns, list) else []):
        expect = turn.get("expect") if isinstance(turn, dict) else None
        for key in ("tools", "events", "rows"):
            if isinstance(expect, dict) and key in expect:
                yield ("turns", index, "expect", key), expect[key]
    if "rows" in data:
        yield ("rows",), data["rows"]
