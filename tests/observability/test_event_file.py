"""events.jsonl survives its writer: whole lines, one write each, nothing said twice, and nothing that stops a run."""

import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ratiba_action.core.event_masking import EventMask
from ratiba_action.core.event_resumption import unfinished_run
from ratiba_action.core.masking import Redactor
from ratiba_action.core.model.event import Event, LoggedEvent, Place, RunEnded, RunStarted, Scored, TurnEnded
from ratiba_action.core.model.values import Usd
from ratiba_action.errors import ConfigurationError
from ratiba_action.observability.event_file import EventFile, open_descriptor
from ratiba_action.observability.event_reader import read_events
from ratiba_action.testing.event_samples import SAMPLE_PLACE, sample_events

AT = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
BEGUN = RunStarted("gate", "blocking", commit="c0ffee")


def opened(
    path: Path, *, anew: bool = False, run: str = "a-run", before: tuple[LoggedEvent, ...] = ()
) -> tuple[EventFile, list[str]]:
    warnings: list[str] = []
    descriptor = open_descriptor(path, anew=anew)
    mask = EventMask({}, Redactor(["sk-PLANTED"]))
    return EventFile(path, descriptor, run, before, mask=mask, clock=lambda: AT, warn=warnings.append), warnings


def turn(number: int, reply: str = "hi") -> Event:
    return Event(TurnEnded(reply, 0.5), Place("head", "a", 0, turn=number))


def test_each_event_is_in_the_file_as_soon_as_it_is_emitted(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file, warnings = opened(path)
    for count, event in enumerate(sample_events(), 1):
        file.emit(event)
        found = read_events(path)
        assert [one.event for one in found.events][-1] == event
        assert [one.sequence for one in found.events] == list(range(1, count + 1))
    assert (found.unreadable, warnings) == ((), [])
    file.close()
    file.close()


def test_a_secret_never_reaches_the_file(tmp_path: Path) -> None:
    file, _ = opened(tmp_path / "events.jsonl")
    file.emit(turn(1, "the key is sk-PLANTED"))
    file.close()
    assert b"PLANTED" not in (tmp_path / "events.jsonl").read_bytes()


@pytest.mark.parametrize("cut", [1, 40])
def test_the_line_that_a_killed_process_has_torn_is_gone_and_the_others_stay(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "events.jsonl"
    first, _ = opened(path, run="first")
    first.emit(turn(1))
    first.emit(turn(2))
    first.close()
    path.write_bytes(path.read_bytes()[:-cut])
    second, _ = opened(path, run="second")
    second.emit(turn(1))
    second.close()
    found = read_events(path)
    assert [(one.run, one.event) for one in found.events] == [("first", turn(1)), ("second", turn(1))]
    assert found.unreadable == ()


def test_a_file_without_any_whole_line_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"schema": 1' + b"x" * 200_000)
    file, _ = opened(path)
    file.emit(turn(1))
    file.close()
    assert [one.event for one in read_events(path).events] == [turn(1)]


def test_runs_that_write_to_one_file_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    one, _ = opened(path, run="one")
    one.emit(turn(1))
    other, _ = opened(path, run="other")
    for number in range(2, 5):
        one.emit(turn(number))
        other.emit(turn(number))
    one.close()
    other.close()
    assert [event.run for event in read_events(path).events] == ["one", *["one", "other"] * 3]


def test_the_report_of_a_run_holds_no_events_of_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("of an earlier run\n")
    file, _ = opened(path, anew=True)
    file.emit(turn(1))
    file.close()
    assert [one.event for one in read_events(path).events] == [turn(1)]


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "events.jsonl").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic"):
        open_descriptor(tmp_path / "events.jsonl", anew=False)
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_resumed_run_goes_on_with_its_number_and_says_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    score = Event(Scored("One", "1", 1.0, 0.5, passed=True), SAMPLE_PLACE)
    other = Event(Scored("Other", "1", 1.0, 0.5, passed=True), SAMPLE_PLACE)
    killed, _ = opened(path)
    for event in (Event(BEGUN), turn(1), other):
        killed.emit(event)
    before = unfinished_run(read_events(path).events, BEGUN)
    resumed, _ = opened(path, before=before)
    for event in (Event(BEGUN), turn(1), score, other, turn(2)):
        resumed.emit(event)
    killed.close()
    resumed.close()
    found = read_events(path).events
    assert [one.event for one in found] == [Event(BEGUN), turn(1), other, score, turn(2)]
    assert [one.sequence for one in found] == [1, 2, 3, 4, 5]


def logged(run: str, *events: Event) -> tuple[LoggedEvent, ...]:
    return tuple(LoggedEvent(run, number, AT, event) for number, event in enumerate(events, 1))


def test_only_a_run_of_the_same_commit_and_gate_that_has_no_end_is_gone_on_with() -> None:
    ended = logged("ended", Event(BEGUN), Event(RunEnded("passed", "", Usd(0), Usd(20))))
    other = logged("other", Event(RunStarted("gate", "blocking", commit="beef")))
    older, newer = logged("older", Event(BEGUN)), logged("newer", Event(BEGUN), turn(1))
    assert unfinished_run((*older, *newer, *ended, *other), BEGUN) == newer
    assert unfinished_run((*ended, *other), BEGUN) == ()


@contextmanager
def smallest_files(size: int) -> Iterator[None]:
    """As on a full disk: a file cannot grow beyond ``size`` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_is_one_warning_and_spoils_no_other_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file, warnings = opened(path)
    file.emit(turn(1))
    with smallest_files(path.stat().st_size + 30):
        file.emit(turn(2))
        file.emit(turn(3))
    file.emit(turn(4))
    file.close()
    found = read_events(path)
    assert [one.event for one in found.events] == [turn(1), turn(4)]
    assert len(found.unreadable) == 1
    assert [one.sequence for one in found.events] == [1, 4], "a gap shows what is missing"
    assert len(warnings) == 1
    assert str(path) in warnings[0]


@pytest.mark.parametrize("spoil", [lambda file: file.close(), lambda file: os.close(file._descriptor)])
def test_an_event_that_cannot_be_written_never_stops_the_run(
    tmp_path: Path, spoil: Callable[[EventFile], None]
) -> None:
    file, warnings = opened(tmp_path / "events.jsonl")
    spoil(file)
    file.emit(turn(1))
    file.emit(turn(2))
    assert len(warnings) == 1


def test_a_line_that_is_no_event_is_told_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({"schema": 1, "type": "invented"}) + "\n")
    assert read_events(path).unreadable == ("events.jsonl:1: its type is 'invented'",)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nothing"):
        read_events(tmp_path / "nothing")
