"""Moves of the state machine, structured answers, the language of a reply, captured replies."""

from dataclasses import replace

import pytest

from ratiba_action.checks.checks import check_transcript
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.conversation import SystemEvent
from ratiba_action.model.measurement import Check
from ratiba_action.model.scenario import Expectation, ExpectedOutput, ExpectedTransition
from tests.support.cases import case, exchange

MOVES = [
    SystemEvent("state_transition", {"from": "GREETING", "to": "ASKING"}),
    SystemEvent("other", {}),
    SystemEvent("state_transition", {"from": "ASKING", "to": "CONFIRMING"}),
    SystemEvent("state_transition", {"from": "CONFIRMING", "to": "BOOKED"}),
]


def _move(source: str | None, target: str) -> ExpectedTransition:
    return ExpectedTransition(source, target)


def _transitions(*moves: ExpectedTransition, events: list[SystemEvent] = MOVES) -> Check:
    one = case(exchange("a", "b", events=events, expect=Expectation(transitions=moves)))
    (check,) = check_transcript(one.scenario, one.transcript)
    return check


@pytest.mark.parametrize(
    ("moves", "held"),
    [
        ([("GREETING", "ASKING")], True),
        ([("GREETING", "ASKING"), ("CONFIRMING", "BOOKED")], True),
        ([(None, "BOOKED")], True),
        ([("ASKING", "CONFIRMING"), ("GREETING", "ASKING")], False),
        ([("GREETING", "BOOKED")], False),
        ([("GREETING", "ASKING"), ("GREETING", "ASKING")], False),
    ],
)
def test_moves_come_in_order_with_others_between_them(moves: list[tuple[str | None, str]], *, held: bool) -> None:
    check = _transitions(*(_move(*one) for one in moves))
    assert (check.kind, check.passed) == ("transitions", held)
    assert check.got == "GREETING → ASKING, ASKING → CONFIRMING, CONFIRMING → BOOKED"


def test_data_that_is_no_state_is_no_move() -> None:
    odd = [SystemEvent("state_transition", {"from": ["A"], "to": {"B": 1}}), SystemEvent("state_transition", {})]
    assert not _transitions(_move(None, "B"), events=odd).passed


def test_a_structured_answer_is_compared() -> None:
    spoken = exchange("a", "b", expect=Expectation(output=ExpectedOutput({"n": [1, 2]}, ignore_order=True)))
    right = case(replace(spoken, reply=replace(spoken.reply, output={"n": [2, 1]})))
    wrong = case(replace(spoken, reply=replace(spoken.reply, output={"n": [2, 3]})))
    assert check_transcript(right.scenario, right.transcript)[0].passed
    assert check_transcript(wrong.scenario, wrong.transcript)[0].got == "n[0] is 2, not 1"


def test_the_language_of_a_reply_is_reported_by_the_detector() -> None:
    one = case(exchange("a", "Karibu sana", expect=Expectation(language="sw")))
    reported = {"Karibu sana": "sw"}
    assert check_transcript(one.scenario, one.transcript, reported.get)[0].passed
    (unknown,) = check_transcript(one.scenario, one.transcript, lambda _: None)
    assert (unknown.passed, unknown.got) == (False, "unknown")
    with pytest.raises(ConfigurationError, match="no language detector"):
        check_transcript(one.scenario, one.transcript)


@pytest.mark.parametrize(
    ("captured", "got", "held"),
    [
        ("Karibu sana!", "Karibu  sana!\n", True),
        ("KES 3\N{NO-BREAK SPACE}500", "KES 3 500", True),
        ("Karibu sana!", "karibu sana!", False),
        ("Karibu sana!", "", False),
    ],
)
def test_a_captured_reply_is_the_same_but_for_white_space(captured: str, got: str, *, held: bool) -> None:
    one = case(exchange("a", got))
    (check,) = check_transcript(replace(one.scenario, replies=(captured,)), one.transcript)
    assert (check.kind, check.turn, check.passed) == ("reply", 1, held)


def test_the_place_where_a_long_reply_differs_is_shown() -> None:
    one = case(exchange("a", "x" * 500 + " leo"))
    (check,) = check_transcript(replace(one.scenario, replies=("x" * 500 + " kesho",)), one.transcript)
    assert (check.expected, check.got) == ("kesho", "leo")


def test_a_turn_that_was_not_reached_has_not_its_captured_reply() -> None:
    one = case(exchange("a", "b"), exchange("c", "d"))
    cut = replace(one.transcript, exchanges=one.transcript.exchanges[:1])
    checks = check_transcript(replace(one.scenario, replies=("b", "d")), cut)
    assert [(check.passed, check.got) for check in checks] == [(True, "b"), (False, "(turn not reached)")]
    assert check_transcript(replace(one.scenario, replies=("", "")), one.transcript) == ()
