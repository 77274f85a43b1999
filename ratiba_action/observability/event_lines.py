"""The lines of ``events.jsonl``: one JSON object each, its schema, and how a line is read again."""

import json
from dataclasses import fields
from datetime import datetime
from typing import Any

from ratiba_action.model.codec import CodecError, decode, encode
from ratiba_action.model.event import EVENT_TYPES, SCHEMA, Event, LoggedEvent, Place
from ratiba_action.model.json_schema import schema_of

_FIRST_YEAR, _LAST_YEAR = 1971, 2200
"""Spans count nanoseconds since 1970 in 64 bits."""


def event_line(logged: LoggedEvent) -> str:
    """One line without its end; ASCII, so that no text in it can end it early.

    Args:
        logged: with its secrets and identifiers masked already.
    """
    place = {name: value for name, value in encode(logged.event.place).items() if value is not None}
    content = {
        "schema": SCHEMA,
        "run": logged.run,
        "sequence": logged.sequence,
        "at": logged.at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "type": logged.event.type,
        **place,
        "data": encode(logged.event.data),
    }
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def parse_event_line(line: str | bytes) -> LoggedEvent:
    """The event that ``event_line`` wrote; fields that are not known are left out.

    Raises:
        CodecError: the line is torn, of another version or no event; says what is wrong.
    """
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise CodecError("it is not JSON") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise CodecError(f"it is no event of schema {SCHEMA}")
    kind = content.get("type")
    if not isinstance(kind, str) or kind not in EVENT_TYPES:
        raise CodecError(f"its type is {kind!r:.80}")
    run, sequence = decode(str, content.get("run"), "$.run"), decode(int, content.get("sequence"), "$.sequence")
    at = decode(datetime, content.get("at"), "$.at")
    if at.tzinfo is None:
        raise CodecError(f"its time {content['at']!r:.80} has no offset")
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise CodecError(f"its time {content['at']!r:.80} is none that a run can have")
    data = decode(EVENT_TYPES[kind], content.get("data"), "$.data")
    return LoggedEvent(run, sequence, at, Event(data, decode(Place, content)))


def events_schema() -> dict[str, Any]:
    """The schema of a line; ``events.schema.json`` holds the same."""
    definitions: dict[str, Any] = {}
    kinds = [
        {"properties": {"type": {"const": name}, "data": schema_of(kind, definitions)}}
        for name, kind in EVENT_TYPES.items()
    ]
    place = {item.name: {"type": "integer" if item.name in {"trial", "turn"} else "string"} for item in fields(Place)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of the events.jsonl of a Ratiba Eval Gate run",
        "type": "object",
        "required": ["schema", "run", "sequence", "at", "type", "data"],
        "properties": {
            "schema": {"const": SCHEMA},
            "run": {"type": "string"},
            "sequence": {"type": "integer", "minimum": 1},
            "at": {"type": "string", "format": "date-time"},
            "type": {"enum": list(EVENT_TYPES)},
            **place,
        },
        "oneOf": kinds,
        "$defs": definitions,
    }


def events_schema_text() -> str:
    """The schema as the published file writes it."""
    return json.dumps(events_schema(), indent=2) + "\n"
