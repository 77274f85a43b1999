"""What is shown of a run while it goes on, and how its log is read on."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.event import ConversationStarted, Place, RunStarted
from ratiba_action.publish.view.live_run import SHOWN, EventTail, LiveRun
from tests.support.growing_log import GrowingLog
from tests.support.logged_runs import logged_run


def shown(log: GrowingLog) -> LiveRun:
    live, tail = LiveRun(), EventTail([log.path.parent])
    for event in tail.read():
        live.add(event)
    tail.close()
    return live


def test_progress_money_conversations_and_the_verdict_are_shown(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path)
    log.begin(scenarios=2)
    log.spend("0.125")
    with log.conversation("books", passed=False) as place:
        log.say(place, "Un massage", "Pour quand ?")
    with log.conversation("books", arm="base"):
        pass
    log.add(ConversationStarted("c" * 32, "t"), Place("head", "asks", 0))

    news = shown(log).since("")

    assert {name: news["run"][name] for name in ("done", "planned", "spent_usd", "cap_usd", "conclusion")} == {
        "done": 1,
        "planned": 2,
        "spent_usd": "0.1250",
        "cap_usd": "5.00",
        "conclusion": "",
    }
    head, base, running = news["conversations"]
    assert (head["status"], base["more"], running["status"]) == ("failed", "base", "running")
    assert head["turns"] == [["Un massage", "Pour quand ?"]]
    assert head["problems"] == ["state after the turn: expected BOOKED, got ASKING"]
    log.end("failed", "1 of 2 scenarios failed.")
    run = shown(log).since("")["run"]
    assert (run["conclusion"], run["reason"], run["spent_usd"]) == ("failed", "1 of 2 scenarios failed.", "0.2500")


def test_an_attempt_that_is_made_again_begins_without_the_turns_of_the_one_before(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path)
    log.begin()
    for reply in ("first", "second"):
        with log.conversation("books") as place:
            log.say(place, "Salut", reply)
    (found,) = shown(log).since("")["conversations"]
    assert found["turns"] == [["Salut", "second"]]


@given(cut=st.integers(0, 40), conversations=st.integers(1, 4))
def test_whoever_comes_back_is_sent_what_is_missing_and_nothing_twice(cut: int, conversations: int) -> None:
    events = logged_run(conversations)
    cut = min(cut, len(events))
    live, known = LiveRun(), dict[str, object]()
    for event in events[:cut]:
        live.add(event)
    known |= {each["key"]: each for each in live.since("")["conversations"]}
    position = live.position
    for event in events[cut:]:
        live.add(event)
    later = live.since(position)
    known |= {each["key"]: each for each in later["conversations"]}

    assert known == {each["key"]: each for each in live.since("")["conversations"]}
    assert later["whole"] is (cut == 0)
    assert live.since(live.position)["conversations"] == []


@pytest.mark.parametrize("position", ["", "other:3", "run-1:x", "run-1:-1", ":", "run-1:" + "9" * 5_000])
def test_a_position_of_another_run_or_of_none_counts_as_nothing(position: str, tmp_path: Path) -> None:
    log = GrowingLog(tmp_path)
    log.begin()
    with log.conversation("books"):
        pass
    news = shown(log).since(position)
    assert news["whole"] is True
    assert len(news["conversations"]) == 1


def test_a_long_run_is_sent_with_its_newest_conversations_and_how_many_are_left_out(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path)
    log.begin()
    for number in range(SHOWN + 3):
        log.add(ConversationStarted("c" * 32, "t"), Place("head", f"s{number}", 0))
    news = shown(log).since("")
    assert (len(news["conversations"]), news["left_out"]) == (SHOWN, 3)
    assert news["conversations"][-1]["name"] == f"s{SHOWN + 2}"


def test_the_events_of_a_shard_behind_those_of_the_merge_do_not_replace_it(tmp_path: Path) -> None:
    live = LiveRun()
    log = GrowingLog(tmp_path)
    log.begin()
    shard = log.add(RunStarted("shard", "blocking"))
    log.begin()
    live.add(log.add(RunStarted("merge", "blocking")))
    live.add(shard)
    run = live.since("")["run"]
    assert run is not None
    assert run["gate"] == "merge"


def test_texts_cannot_turn_the_direction_of_writing(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path)
    log.add(RunStarted("ratiba", "blocking", "\u202eabc"))
    with log.conversation("a\u202eb") as place:
        log.say(place, "\u2066hi\x1b", "\u202egnp.exe")
    assert not set("\u202e\u2066\x1b") & set(str(shown(log).since("")))


def test_a_line_that_does_not_end_is_not_held_and_what_follows_it_is_read(tmp_path: Path) -> None:
    log, tail = GrowingLog(tmp_path), EventTail([tmp_path])
    log.begin()
    with log.conversation("books") as place:
        log.say(place, "x" * (9 << 20), "It is long.")
    read = [event.event.type for _ in range(5) for event in tail.read()]
    assert "turn_ended" not in read
    assert read[-1] == "conversation_ended"
    tail.close()


def test_a_log_is_read_on_through_torn_lines_and_into_the_log_of_the_next_run(tmp_path: Path) -> None:
    log, tail = GrowingLog(tmp_path / "report"), EventTail([tmp_path / "elsewhere", tmp_path / "report"])
    assert tail.read() == ()
    log.begin()
    assert [event.event.type for event in tail.read()] == ["run_started"]
    line = log.path.read_bytes()
    log.end()
    log.path.write_bytes(log.path.read_bytes()[:-5])
    assert tail.read() == ()
    with log.path.open("ab") as file:
        file.write(b"no event\n" + line)
    assert [event.event.type for event in tail.read()] == ["run_started"]
    log.begin()
    assert tail.read()[0].run == "run-2"
    log.path.write_bytes(b"")
    assert tail.read() == ()
    log.begin()
    assert tail.read()[0].run == "run-3"
    tail.close()
    tail.close()


def test_neither_a_link_nor_a_pipe_is_read(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path / "other")
    log.begin()
    (tmp_path / "report").mkdir()
    (tmp_path / "report/events.jsonl").symlink_to(log.path)
    (tmp_path / "linked").symlink_to(tmp_path / "other")
    (tmp_path / "piped").mkdir()
    os.mkfifo(tmp_path / "piped/events.jsonl")
    tail = EventTail([tmp_path / "report", tmp_path / "linked", tmp_path / "piped"])
    assert tail.read() == ()
