"""Traces of several shapes are the same conversation."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratiba_action.observability.traces import attributes
from ratiba_action.observability.traces.conversations import traced_runs
from ratiba_action.production.conversation import Observation, ProductionConversation, read_conversation
from tests.support.logged_runs import logged_run

BEGAN = datetime(2026, 11, 20, 9, tzinfo=UTC)


def observation(name: str, given: Any = None, made: Any = None, **fields: Any) -> Observation:
    number = fields.pop("number", 0)
    shape = {"trace_id": "t1", "observation_id": f"{name} {number}", "parent_id": "root"}
    return Observation(name=name, start=BEGAN + timedelta(seconds=number), given=given, made=made, **(shape | fields))


def read(*observations: Observation) -> ProductionConversation:
    found = read_conversation(observations)
    assert found is not None
    return found


def turns_of(conversation: ProductionConversation) -> list[tuple[Any, str]]:
    return [(turn.user if turn.user is not None else turn.event, turn.reply) for turn in conversation.turns]


def test_turns_are_in_order_of_time_and_the_root_is_no_turn_beside_them() -> None:
    found = read(
        observation("turn 1", "Kesho", "Sawa", number=2),
        observation("conversation", ["Habari", "Kesho"], parent_id=""),
        observation("model call", "prompt", "answer", number=1),
        observation("turn 0", "Habari", "Karibu", number=1),
    )
    assert turns_of(found) == [("Habari", "Karibu"), ("Kesho", "Sawa")]
    assert found.started == BEGAN


@pytest.mark.parametrize("name", ["turn", "Turn 3", "turn-3", "turn_3"])
def test_a_turn_may_be_named_in_several_ways(name: str) -> None:
    assert turns_of(read(observation("root", "no", "no", parent_id=""), observation(name, "Habari", "Karibu"))) == [
        ("Habari", "Karibu")
    ]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("Habari", "Karibu"),
        ('"Habari"', '"Karibu"'),
        ({"user": "Habari"}, {"reply": "Karibu"}),
        ('{"message": "Habari"}', '{"text": "Karibu"}'),
        ({"messages": [{"role": "user", "content": "older"}, {"role": "user", "content": "Habari"}]}, "Karibu"),
        (
            [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Habari"}],
            [{"role": "assistant", "content": [{"type": "text", "text": "Karibu"}]}],
        ),
    ],
    ids=["text", "JSON text", "mapping", "JSON mapping", "messages", "blocks"],
)
def test_what_was_said_is_read_from_the_usual_shapes(given: Any, made: Any) -> None:
    assert turns_of(read(observation("turn 0", given, made))) == [("Habari", "Karibu")]


def test_a_number_in_a_text_stays_a_text() -> None:
    assert turns_of(read(observation("turn 0", "0712345678", "2"))) == [("0712345678", "2")]


def test_a_payment_event_is_a_turn() -> None:
    event = {"type": "payment", "amount": 1500}
    assert turns_of(read(observation("turn 0", json.dumps({"event": event}), "Asante"))) == [(event, "Asante")]


def test_traces_of_one_session_are_one_conversation_whose_roots_are_its_turns() -> None:
    found = read(
        observation("chat", "Kesho", "Sawa", trace_id="t2", parent_id="", number=5),
        observation("chat", "Habari", "Karibu", trace_id="t1", parent_id=""),
    )
    assert found.trace_ids == ("t1", "t2")
    assert turns_of(found) == [("Habari", "Karibu"), ("Kesho", "Sawa")]


@pytest.mark.parametrize("given", [None, 7, "", "  ", {}, [], {"foo": "bar"}, [1], {"messages": "none"}, {"event": 1}])
def test_a_turn_in_which_nobody_says_anything_is_left_out(given: Any) -> None:
    assert read(observation("turn 0", given, "Karibu")).turns == ()


def test_what_is_informed_of_the_trace_is_found_on_any_of_its_steps_and_every_vertical_counts() -> None:
    found = read(
        observation(
            "turn 0", "a", metadata={"tenant_id": " spa_1 ", "vertical": "spa", "customer_name": "Amina Yusuf"}
        ),
        observation("turn 1", "b", metadata={"vertical": "dental", "customer_names": ["Otieno"], "language": 7}),
    )
    assert (found.tenant, found.language) == ("spa_1", "")
    assert found.verticals == {"spa", "dental"}
    assert found.names == {"Amina Yusuf", "Otieno"}


@pytest.mark.parametrize(
    ("first", "second", "tenant"),
    [("spa_1", "spa_1", "spa_1"), ("spa_1", "smile_dental", ""), ("spa_1", "", ""), ("", "spa_1", "")],
)
def test_a_session_is_of_a_tenant_only_when_all_of_its_traces_are(first: str, second: str, tenant: str) -> None:
    found = read(
        observation("chat", "Habari", "Karibu", trace_id="t1", metadata={"tenant_id": first}),
        observation("turn 0", "Kesho", "Sawa", trace_id="t2", metadata={"tenant_id": second}),
    )
    assert found.tenant == tenant


def test_no_observation_is_no_conversation() -> None:
    assert read_conversation([]) is None


def test_a_trace_of_the_gate_itself_can_be_read() -> None:
    trace = traced_runs(logged_run(1))[0].traces[0]
    found = read_conversation(
        Observation(
            trace_id=span.trace_id,
            observation_id=span.span_id,
            parent_id=span.parent_id,
            name=span.name,
            start=span.start,
            given=span.attributes.get(attributes.INPUT),
            made=span.attributes.get(attributes.OUTPUT),
            metadata={
                name.removeprefix(f"{attributes.TRACE_METADATA}."): value
                for name, value in span.attributes.items()
                if name.startswith(attributes.TRACE_METADATA)
            },
        )
        for span in trace.spans
    )
    assert found is not None
    assert [turn.user is not None and bool(turn.reply) for turn in found.turns] == [True]
    assert found.tenant
    assert found.prompt_version
