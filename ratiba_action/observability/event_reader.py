"""Reads an ``events.jsonl`` again."""

import os
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.codec import CodecError
from ratiba_action.model.event import LoggedEvent
from ratiba_action.observability.event_lines import parse_event_line
from ratiba_action.observability.event_tampering import ensure_plain_file


@dataclass(frozen=True, slots=True)
class ReadEvents:
    """What a file holds.

    Args:
        events: in the order of the file; of all its runs.
        unreadable: each line that is no event, in words; a killed process may leave a torn one.
    """

    events: tuple[LoggedEvent, ...]
    unreadable: tuple[str, ...] = ()


def read_events(path: Path) -> ReadEvents:
    """Every event of a file.

    Args:
        path: an ``events.jsonl``.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    events: list[LoggedEvent] = []
    unreadable: list[str] = []
    try:
        # A pipe in its place must not hold whoever opens it.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            ensure_plain_file(file.fileno())
            for number, line in enumerate(file, 1):
                try:
                    events.append(parse_event_line(line))
                except CodecError as error:
                    unreadable.append(f"{path.name}:{number}: {error}")
    except OSError as error:
        raise ConfigurationError(
            f"The events {str(path)!r} cannot be read: {error.strerror or error}.", "Name an events.jsonl."
        ) from error
    return ReadEvents(tuple(events), tuple(unreadable))
