"""Assertions on the text of one turn's reply."""

from dataclasses import replace
from typing import Any

import pytest

from ratiba_action.checks.checks import check_so_far, check_transcript
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.measurement import Check
from ratiba_action.model.scenario import Expectation, ExpectedReply, Suite
from ratiba_action.suite.ratchet import ratchet_suite
from tests.support.cases import case, exchange

ORDER = '{"status": "shipped", "items": [{"id": 7, "kes": 3500.0}], "gift": false}'


def _checks(reply: str, **expected: Any) -> tuple[Check, ...]:
    conversation = case(exchange("a", reply, expect=Expectation(reply=ExpectedReply(**expected))))
    return check_transcript(conversation.scenario, conversation.transcript)


@pytest.mark.parametrize(
    ("expected", "reply", "passed"),
    [
        ({"contains": ("KES 3,500",)}, "bei ni kes 3,500", [True]),
        ({"contains": ("KES", "leo")}, "KES 3,500 kesho", [True, False]),
        ({"contains": ("STRASSE",)}, "straße", [True]),
        ({"contains_any": ("leo", "kesho")}, "Karibu KESHO", [True]),
        ({"contains_any": ("leo", "kesho")}, "Karibu", [False]),
        ({"not_contains": ("reservation",)}, "Your RESERVATION", [False]),
        ({"not_contains": ("reservation", "PIN")}, "Your booking", [True, True]),
        ({"matches": (r"KES\s?[0-9],[0-9]{3}",)}, "ni KES 3,500 tu", [True]),
        ({"matches": ("kes", "^ni")}, "ni KES 3,500", [False, True]),
        ({"equals": "Karibu sana!"}, " Karibu\nsana!", [True]),
        ({"equals": "KES 3 500"}, "KES 3\N{NO-BREAK SPACE}500", [True]),
        ({"equals": "Karibu sana!"}, "karibu sana!", [False]),
        ({"equals": "Karibu"}, "Karibu sana", [False]),
        ({"max_words": 2}, "Karibu  sana", [True]),
        ({"max_words": 2}, "Karibu sana leo", [False]),
        ({"json": {}}, ORDER, [True]),
        ({"json": {}}, "```json\n{}\n```", [False]),
        ({"json": {"status": "shipped", "items[0].kes": 3500, "length(items)": 1}}, ORDER, [True, True, True, True]),
        ({"json": {"status": "lost", "items[*].id": [7]}}, ORDER, [True, False, True]),
        ({"json": {"gift": 0}}, ORDER, [True, False]),
        ({"json": {"missing": None}}, ORDER, [True, True]),
        ({"json": {"length(gift)": 1}}, ORDER, [True, False]),
        ({"json": {"status": "shipped"}}, "shipped", [False]),
        ({"json": {}}, "NaN", [False]),
        ({"json": {}}, "[" * 100_000, [False]),
        ({"json": {"n": 1}}, '{"n": 1e999}', [True, False]),
    ],
)
def test_the_text_of_a_reply_is_checked(expected: dict[str, Any], reply: str, passed: list[bool]) -> None:
    checks = _checks(reply, **expected)
    assert [check.passed for check in checks] == passed
    assert {(check.kind, check.turn, check.line) for check in checks} == {("reply", 1, 7)}


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ({"contains": ("leo",)}, "'leo' (case is ignored)"),
        ({"contains_any": ("leo", "jana")}, "'leo', 'jana' (case is ignored)"),
        ({"not_contains": ("kesho",)}, "'kesho' (case is ignored)"),
        ({"matches": ("leo",)}, "'leo' (case counts)"),
        ({"matches": (r"\d{4}\s",)}, r"'\d{4}\s' (case counts)"),
        ({"equals": "leo"}, "leo"),
        ({"json": {}}, "JSON"),
        ({"max_words": 1}, "at most 1"),
    ],
)
def test_a_failed_assertion_shows_what_was_expected_and_the_reply(expected: dict[str, Any], shown: str) -> None:
    (check,) = _checks("Karibu kesho", **expected)
    assert (check.passed, check.expected) == (False, shown)
    assert "Karibu kesho" in check.got


def test_a_failed_path_shows_the_value_and_the_reply() -> None:
    _, check = _checks(ORDER, json={"status": "lost"})
    assert (check.what, check.expected) == ("reply at status", '"lost"')
    assert check.got.startswith('"shipped"; the reply: {"status": "shipped"')


def test_what_a_long_reply_must_not_contain_is_shown() -> None:
    (check,) = _checks("x " * 500 + "reservation" + " y" * 500, not_contains=("reservation",))
    assert "reservation" in check.got


def test_an_empty_reply_is_shown_as_such() -> None:
    (check,) = _checks("", contains=("leo",))
    assert (check.passed, check.got) == (False, "(empty reply)")


def test_a_turn_that_was_not_reached_passes_no_assertion_on_its_reply() -> None:
    expected = Expectation(reply=ExpectedReply(not_contains=("PIN",), max_words=5))
    conversation = case(exchange("a", "b", expect=expected))
    nothing = replace(conversation.transcript, exchanges=())
    checks = check_transcript(conversation.scenario, nothing)
    assert [(check.passed, check.got) for check in checks] == [(False, "(turn not reached)")] * 2
    assert check_so_far(conversation.scenario, nothing) == ()


def test_a_pattern_that_takes_too_long_is_an_error_and_no_pass() -> None:
    with pytest.raises(ConfigurationError, match="took longer than"):
        _checks("a" * 5_000 + "!", matches=(r"(a|a|b)+(a|aa)+$",))


def test_a_change_that_weakens_an_assertion_on_a_reply_is_named() -> None:
    strict, loose = (
        case(exchange("a", "b", expect=Expectation(reply=reply))).scenario
        for reply in (ExpectedReply(contains=("KES",)), None)
    )
    _, notes = ratchet_suite(Suite((loose,), "b"), Suite((strict,), "a"))
    assert notes == (
        "This change edits what scenarios ask or expect: spa_booking. Check that this is meant.",
        "spa_booking: this change edits its turns.",
    )
