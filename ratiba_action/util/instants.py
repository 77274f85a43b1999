"""Points in time as they come in tool calls and database rows."""

from datetime import datetime, tzinfo
from typing import Any


def parse_instant(value: Any, zone: tzinfo | None) -> datetime | None:
    """An aware datetime from ISO 8601 text, None when the value is not one.

    Args:
        value: such as ``2026-04-26T14:00:00+03:00``; without an offset it is read in ``zone``.
        zone: the time zone of the scenario's ``now``.
    """
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, str) and len(value) >= len("2026-04-26T14"):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    else:
        return None
    try:
        return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)
    except (OverflowError, ValueError):
        return None


def same_value(expected: Any, got: Any, zone: tzinfo | None) -> bool:
    """Whether ``got`` holds all of ``expected``: objects by subset, lists by element, instants by the moment."""
    if isinstance(expected, dict):
        return isinstance(got, dict) and all(
            key in got and same_value(value, got[key], zone) for key, value in expected.items()
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(got, list | tuple)
            and len(expected) == len(got)
            and all(same_value(first, second, zone) for first, second in zip(expected, got, strict=True))
        )
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    moment = parse_instant(expected, zone)
    return expected == got or (moment is not None and moment == parse_instant(got, zone))
