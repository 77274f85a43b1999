"""events.jsonl survives its writer: whole lines, one write each, nothing said twice, and nothing that stops a run."""

import fcntl
import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.event import Event, LoggedEvent, Place, RunEnded, RunStarted, ScoreLogged, TurnEnded
from ratiba_action.model.values import Usd
from ratiba_action.observability.event_file import EventFile, open_descriptor
from ratiba_action.observability.event_lines import event_line, read_events, unfinished_run
from ratiba_action.observability.event_masking import EventMask
from ratiba_action.privacy.masking import Redactor
from tests.support.event_samples import SAMPLE_PLACE, sample_events

AT = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
BEGUN = RunStarted("gate", "blocking", commit="c0ffee")


def opened(
    path: Path,
    *,
    anew: bool = False,
    run: str = "a-run",
    before: tuple[LoggedEvent, ...] = (),
    only_run: bool = False,
) -> tuple[EventFile, list[str]]:
    warnings: list[str] = []
    descriptor = open_descriptor(path, anew=anew)
    mask = EventMask({}, Redactor(["sk-PLANTED"]))
    file = EventFile(
        path, descriptor, run, before, mask=mask, clock=lambda: AT, warn=warnings.append, only_run=only_run
    )
    return file, warnings


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
    score = Event(ScoreLogged("One", "1", 1.0, 0.5, passed=True), SAMPLE_PLACE)
    other = Event(ScoreLogged("Other", "1", 1.0, 0.5, passed=True), SAMPLE_PLACE)
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


def test_a_line_that_is_no_event_is_reported_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({"schema": 1, "type": "invented"}) + "\n")
    assert read_events(path).unreadable == ("events.jsonl:1: its type is 'invented'",)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nothing"):
        read_events(tmp_path / "nothing")


def forged_line(reply: str) -> str:
    """A line that passes for one of the run, written another way."""
    line = event_line(LoggedEvent("a-run", 9, AT, turn(9, reply)))
    return json.dumps(json.loads(line), sort_keys=True) + "\n"


def plant(path: Path, what: str) -> None:
    if what == "file":
        path.write_text(forged_line("forged"))
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "link":
        path.symlink_to("/dev/zero")
    elif what == "folder":
        path.mkdir()


@pytest.mark.parametrize("planted", ["file", "pipe", "link", "folder", "nothing"])
def test_a_file_that_was_replaced_during_the_run_is_put_back_and_reported(tmp_path: Path, planted: str) -> None:
    path = tmp_path / "events.jsonl"
    file, warnings = opened(path, only_run=True)
    file.emit(turn(1))
    path.unlink()
    plant(path, planted)
    file.emit(turn(2))
    file.close()
    assert file.path == path
    assert [one.event for one in read_events(path).events] == [turn(1), turn(2)]
    assert "were replaced while the run went on" in "".join(warnings)
    assert [one.name for one in tmp_path.iterdir()] == ["events.jsonl"]


def test_a_file_of_many_runs_that_was_moved_away_is_reported_and_not_used(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file, warnings = opened(path)
    file.emit(turn(1))
    path.rename(tmp_path / "events.jsonl.1")
    path.write_text("of another run\n")
    file.close()
    assert file.path is None
    assert "moved or replaced" in "".join(warnings)
    assert path.read_text() == "of another run\n"


def tampered(path: Path, how: str) -> None:
    lines = path.read_text().splitlines(keepends=True)
    if how == "changed":
        path.write_text("".join(lines).replace("good", "evil"))
    elif how == "removed":
        path.write_text(lines[0])
    else:
        path.write_text("".join([*lines, forged_line("forged")]))


@pytest.mark.parametrize("how", ["changed", "removed", "added"])
def test_events_that_something_else_has_changed_are_reported_and_not_used(tmp_path: Path, how: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("of an earlier run\n")
    file, warnings = opened(path)
    file.emit(turn(1, "good"))
    file.emit(turn(2, "good"))
    content = path.read_text()
    tampered(path, how)
    assert path.read_text() != content
    file.close()
    assert file.path is None
    assert "changed by something else" in "".join(warnings)


def test_a_pipe_or_a_locked_file_holds_no_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no plain file"):
        open_descriptor(tmp_path / "pipe", anew=False)
    with pytest.raises(ConfigurationError, match="no plain file"):
        read_events(tmp_path / "pipe")
    with (tmp_path / "locked").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="locked"):
            open_descriptor(tmp_path / "locked", anew=False)


def test_a_folder_that_a_change_brings_in_the_place_of_the_file_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.mkdir()
    (path / "kept").write_text("to be in the way")
    file, warnings = opened(path, anew=True)
    file.emit(turn(1))
    file.close()
    assert ([one.event for one in read_events(path).events], warnings) == ([turn(1)], [])


def test_threads_that_speak_at_once_share_no_number(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file, warnings = opened(path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: file.emit(turn(number)), range(400)))
    file.close()
    assert [one.sequence for one in read_events(path).events] == list(range(1, 401))
    assert (file.path, warnings) == (path, [])
