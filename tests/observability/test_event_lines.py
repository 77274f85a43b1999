"""The lines of events.jsonl: described by their schema, and readable again."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ratiba_action.observability
from ratiba_action.model.codec import CodecError
from ratiba_action.model.event import EVENT_TYPES, Event, LoggedEvent, Place, conversation_id
from ratiba_action.observability.event_lines import event_line, parse_event_line
from tests.support.event_samples import sample_events

PUBLISHED = Path(ratiba_action.observability.__path__[0]) / "events.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf-8")))
AT = datetime(2026, 11, 22, 8, 30, 0, 123456, UTC)

places = st.builds(
    Place,
    arm=st.sampled_from(["head", "base", None]),
    scenario=st.none() | st.text(max_size=20),
    trial=st.none() | st.integers(0, 99),
    variant=st.none() | st.text(max_size=20),
    turn=st.none() | st.integers(1, 99),
)


def logged(event: Event) -> LoggedEvent:
    return LoggedEvent("a-run", 1, AT, event)


@given(st.text(max_size=40), places)
def test_a_line_of_every_type_fits_the_published_schema_and_is_read_back(text: str, place: Place) -> None:
    for event in sample_events(text, place):
        line = event_line(logged(event))
        assert line.isascii()
        assert "\n" not in line
        VALIDATOR.validate(json.loads(line))
        assert parse_event_line(line) == logged(event)


def test_what_does_not_apply_is_left_out_of_a_line() -> None:
    line = json.loads(event_line(logged(sample_events("x", Place("head", "spa_booking", 0))[1])))
    assert list(line) == ["schema", "run", "sequence", "at", "type", "arm", "scenario", "trial", "data"]
    assert line["at"] == "2026-11-22T08:30:00.123456Z"
    assert line["type"] == "conversation_started"


def test_a_reader_passes_over_fields_of_a_later_version_of_the_gate() -> None:
    event = sample_events()[0]
    line = json.loads(event_line(logged(event)))
    line["data"]["invented_later"] = 1
    VALIDATOR.validate(line)
    assert parse_event_line(json.dumps(line)).event == event


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"schema": 2}, "no event of schema 1"),
        ({"type": "invented"}, "its type is 'invented'"),
        ({"at": "2026-11-22T08:30:00"}, "has no offset"),
        ({"at": "0001-01-01T00:00:00Z"}, "is none that a run can have"),
        ({"at": "9999-12-31T23:59:59Z"}, "is none that a run can have"),
        ({"sequence": "1"}, r"\$.sequence is '1'"),
        ({"data": {}}, r"\$.data.gate is missing"),
    ],
)
def test_a_line_that_is_no_event_is_refused_with_the_reason(change: dict[str, Any], problem: str) -> None:
    line = json.loads(event_line(logged(sample_events()[0]))) | change
    with pytest.raises(CodecError, match=problem):
        parse_event_line(json.dumps(line))


def test_a_torn_line_is_refused() -> None:
    with pytest.raises(CodecError, match="not JSON"):
        parse_event_line(event_line(logged(sample_events()[0]))[:-1])


def test_a_conversation_has_one_id_in_each_run() -> None:
    place = Place("head", "spa_booking", 0)
    others = [Place("base", "spa_booking", 0), Place("head", "spa_booking", 1), Place("head", "spa_booking", 0, "b")]
    ids = {conversation_id("a", place), conversation_id("b", place), *(conversation_id("a", one) for one in others)}
    assert len(ids) == 5
    assert conversation_id("a", Place("head", "spa_booking", 0, turn=2)) == conversation_id("a", place)


def test_every_type_has_a_name_of_its_own() -> None:
    assert [event.type for event in sample_events()] == list(EVENT_TYPES)
