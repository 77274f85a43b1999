"""The lines of ``events.jsonl``: one JSON object each, its schema, and how a line is read again.

Also whether the file is still what the run has written, and how its place is restored where it is not.
"""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.codec import CodecError, decode, encode
from ratiba_action.model.event import EVENT_TYPES, SCHEMA, BudgetMoved, Event, LoggedEvent, Place, RunEnded, RunStarted
from ratiba_action.settings.report_folder import remove_entry

EventKey = tuple[str, Place, str]
"""What a resumed run would say again: its type, where, and of which metric."""

_FIRST_YEAR, _LAST_YEAR = 1971, 2200
"""Spans count nanoseconds since 1970 in 64 bits."""

_COMPACT = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))

_CHUNK = 1_048_576
"""Bytes that are copied at once."""


def unfinished_run(logged: Iterable[LoggedEvent], begun: RunStarted) -> tuple[LoggedEvent, ...]:
    """The events of the last run of the same commit and gate that has no end; empty where there is none.

    Args:
        logged: everything in the file.
        begun: how the run that is resumed begins.
    """
    runs: dict[str, list[LoggedEvent]] = {}
    for event in logged:
        runs.setdefault(event.run, []).append(event)
    for events in reversed(runs.values()):
        if _is_unfinished(events, begun):
            return tuple(events)
    return ()


def _is_unfinished(events: Sequence[LoggedEvent], begun: RunStarted) -> bool:
    ended = any(isinstance(logged.event.data, RunEnded) for logged in events)
    starts = [logged.event.data for logged in events if isinstance(logged.event.data, RunStarted)]
    return not ended and any(_same_subject(start, begun) for start in starts[:1])


def _same_subject(first: RunStarted, second: RunStarted) -> bool:
    return (first.gate, first.repository, first.commit, first.base) == (
        second.gate,
        second.repository,
        second.commit,
        second.base,
    )


def event_key(event: Event) -> EventKey | None:
    """What shows whether an event was reported before; None of money, which moves once.

    A resumed run runs every scenario again and is answered from the write-ahead journal, so it comes by the same
    events in the same order; only the metrics of one conversation may overtake each other.
    """
    if isinstance(event.data, BudgetMoved):
        return None
    return event.type, event.place, getattr(event.data, "metric", "")


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
    return _COMPACT.encode(content)


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
        # A pipe there must not block whoever opens it.
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


def ensure_plain_file(descriptor: int) -> None:
    """Refuse a pipe or a device, which would hold whoever reads or writes it.

    Raises:
        OSError: it is one.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError("it is no plain file")


def is_written_file(path: Path, descriptor: int) -> bool:
    """Whether a path still leads to the open file, and by no link."""
    try:
        there = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, os.fstat(descriptor))


def digest_of_run(descriptor: int, begin: int, run: str) -> str:
    """SHA-256 of the lines of one run.

    Args:
        begin: byte that the run's first line may stand at.
    """
    digest, start = hashlib.sha256(), f'{{"schema":1,"run":{json.dumps(run)},'.encode()
    for line in _lines(descriptor, begin):
        if line.startswith(start) or _run_of(line) == run:
            digest.update(line)
    return digest.hexdigest()


def put_back(path: Path, descriptor: int) -> None:
    """Make a path lead to a copy of the open file again.

    Args:
        path: what is there now is replaced.
        descriptor: of the file that the run has written.

    Raises:
        OSError: the copy cannot be written, or what is instead cannot be removed.
    """
    copy = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with copy.open("xb") as file:
            offset = 0
            while chunk := os.pread(descriptor, _CHUNK, offset):
                file.write(chunk)
                offset += len(chunk)
        remove_entry(path)
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)


def _lines(descriptor: int, begin: int) -> Iterator[bytes]:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(begin)
        yield from file


def _run_of(line: bytes) -> object:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content.get("run") if isinstance(content, dict) else None
