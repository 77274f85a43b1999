"""A turn is told as what was said, which tools were called, how state and payment moved, and to whom it went."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.checks.conversation_events import turn_events
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Reply, SystemEvent, ToolCall
from ratiba_action.model.event import (
    HandedOff,
    Happening,
    PaymentChanged,
    Place,
    StateTransition,
    ToolCalled,
    TurnEnded,
)
from tests.support.cases import callback_event, charge, exchange
from tests.support.sample_report import sample_trial


def happenings(
    user: str | None, reply: str, *calls: ToolCall, before: Reply | None = None, **more: Any
) -> list[Happening]:
    happened = list(turn_events(sample_trial("a"), 2, exchange(user, reply, *calls, **more), before))
    assert {event.place for event in happened} == {Place("head", "a", 0, turn=2)}
    first = happened[0].data
    assert isinstance(first, TurnEnded)
    assert (first.user, first.reply) == (user, reply)
    return [event.data for event in happened[1:]]


def test_of_a_tool_call_only_the_checksum_of_its_arguments_is_reported() -> None:
    call = ToolCall("look_up", {"b": 1, "a": [2]})
    assert happenings("hi", "yes", call) == [ToolCalled("look_up", digest({"a": [2], "b": 1}))]


def test_arguments_that_are_no_json_have_a_checksum_all_the_same() -> None:
    (called,) = happenings("hi", "yes", ToolCall("look_up", {"share": float("nan")}))
    assert isinstance(called, ToolCalled)
    assert len(called.args_sha256) == 64


def test_moves_are_those_that_the_system_reports() -> None:
    moves = [
        SystemEvent("state_transition", {"from": "A", "to": "B"}),
        SystemEvent("state_transition", {"from": "B", "to": "C"}),
    ]
    assert happenings("hi", "yes", state="C", events=moves) == [StateTransition("A", "B"), StateTransition("B", "C")]


def test_a_system_that_reports_no_moves_is_reported_by_its_states() -> None:
    assert happenings("hi", "yes", state="A") == [StateTransition(None, "A")]
    assert happenings("hi", "yes", state="B", before=Reply("", "A")) == [StateTransition("A", "B")]
    assert happenings("hi", "yes", state="A", before=Reply("", "A")) == []


def test_a_payment_is_reported_with_what_its_report_its_callback_and_its_tool_call_say() -> None:
    pending = SystemEvent("payment_state", {"to": "PENDING"})
    asked = happenings("pay", "sent", charge(3500), events=[pending])
    assert asked[1:] == [PaymentChanged("PENDING", "mpesa", Decimal(3500), "KES")]
    paid = SystemEvent("payment_state", {"from": "PENDING", "to": "PAID"})
    callback = {**callback_event(), "rail": "mpesa", "amount_kes": 3500}
    assert happenings(None, "thanks", event=callback, events=[paid]) == [
        PaymentChanged("PAID", "mpesa", Decimal(3500), "KES", "TKL4X8Q2ZP")
    ]


def test_a_system_that_reports_no_payments_is_reported_by_its_states() -> None:
    assert happenings("hi", "yes", payment="NONE") == []
    assert happenings("hi", "yes", payment="PAID", before=Reply("", None, "PENDING")) == [PaymentChanged("PAID")]
    assert happenings("hi", "yes", payment="PAID", before=Reply("", None, "PAID")) == []


def test_a_hand_off_is_reported_with_its_reason() -> None:
    assert happenings("hi", "wait", events=[SystemEvent("handoff", {"reason": "asked for a person"})]) == [
        HandedOff("asked for a person")
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["from", "to", "state", "rail", "amount", "amount_kes", "receipt", "reason", "currency"])


@given(
    st.sampled_from(["state_transition", "payment_state", "payment", "handoff", "other"]),
    st.dictionaries(names, json_values, max_size=4),
)
def test_whatever_a_system_reports_is_reported_without_an_error(kind: str, data: dict[str, object]) -> None:
    call = ToolCall("pay", {"rail": "mpesa", **data})
    assert happenings("hi", "yes", call, events=[SystemEvent(kind, data)])
