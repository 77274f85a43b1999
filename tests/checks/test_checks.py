import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.checks.checks import check_transcript
from ratiba_action.checks.failure_rules import RULE_TYPES, validate_rule
from ratiba_action.model.conversation import Exchange, SystemEvent, ToolCall
from ratiba_action.model.measurement import Case, Check
from ratiba_action.model.scenario import Expectation, ExpectedEvent, ExpectedTool, FailureRule
from tests.support.cases import case, create, exchange, look_up

TEXT_AND_CALL_RULES = RULE_TYPES[:8]


def _checks(one: Case) -> tuple[Check, ...]:
    return check_transcript(one.scenario, one.transcript)


def _only(*exchanges: Exchange, rules: tuple[FailureRule, ...] = ()) -> Check:
    (check,) = _checks(case(*exchanges, rules=rules))
    return check


def _tools(expected: tuple[ExpectedTool, ...], *calls: ToolCall) -> Check:
    return _only(exchange("Habari", "Karibu", *calls, expect=Expectation(tools=expected)))


def test_a_state_that_differs_says_what_was_expected_and_what_came() -> None:
    check = _only(exchange("Habari", "Karibu", state="GREETING", expect=Expectation(state="BOOKED")))
    assert (check.kind, check.turn, check.expected, check.got, check.passed) == (
        "state",
        1,
        "BOOKED",
        "GREETING",
        False,
    )
    assert check.line == 7


def test_a_payment_state_that_is_reached_passes() -> None:
    assert _only(exchange("x", "y", payment="PAID", expect=Expectation(payment="PAID"))).passed


def test_nothing_expected_gives_no_check() -> None:
    assert _checks(case(exchange("Habari", "Karibu"))) == ()


def test_arguments_are_compared_as_a_subset() -> None:
    assert _tools((ExpectedTool("check_availability", {"service": "massage"}),), look_up("2026-04-26T14:00")).passed


@pytest.mark.parametrize(
    ("expected", "passed"),
    [
        ("2026-04-26T14:00", True),
        ("2026-04-26T14:00:00+03:00", True),
        ("2026-04-26T11:00:00Z", True),
        ("2026-04-26T08:00", False),
        ("2026-04-26T14:00:00Z", False),
    ],
)
def test_times_are_equal_when_they_are_the_same_instant(expected: str, *, passed: bool) -> None:
    check = _tools((ExpectedTool("create_booking", {"start": expected}),), create("2026-04-26T14:00"))
    assert check.passed is passed


def test_tool_calls_are_readable() -> None:
    check = _tools((ExpectedTool("create_booking", {"service": "massage"}),))
    assert check.expected == "create_booking(service=massage)"
    assert check.got == "no tool call"
    assert not check.passed


def test_tool_calls_must_come_in_order_and_complete() -> None:
    expected = (ExpectedTool("check_availability"), ExpectedTool("create_booking"))
    look, book = look_up("2026-04-26T14:00"), create("2026-04-26T14:00")
    assert _tools(expected, look, book).passed
    assert not _tools(expected, book, look).passed
    assert not _tools(expected, look).passed
    assert not _tools(expected, look, book, book).passed


def test_an_empty_list_of_tools_forbids_any() -> None:
    assert _tools(()).passed
    assert not _tools((), look_up("2026-04-26T14:00")).passed


@pytest.mark.parametrize(
    ("wanted", "passed"),
    [({"briefing": {"name": "W"}}, True), ({"briefing": {"name": "X"}}, False), ({"n": 1}, False), ({"n": True}, True)],
)
def test_nested_arguments_are_compared_in_depth(wanted: dict[str, object], *, passed: bool) -> None:
    call = ToolCall("hand_off", {"briefing": {"name": "W", "phone": "…"}, "n": True})
    assert _tools((ExpectedTool("hand_off", wanted),), call).passed is passed


def test_lists_in_arguments_are_compared_element_by_element() -> None:
    call = ToolCall("offer", {"starts": ["2026-04-26T14:00:00+03:00", "2026-04-26T15:00"]})
    same = ExpectedTool("offer", {"starts": ["2026-04-26T14:00", "2026-04-26T15:00"]})
    fewer = ExpectedTool("offer", {"starts": ["2026-04-26T14:00"]})
    assert _tools((same,), call).passed
    assert not _tools((fewer,), call).passed


def test_an_event_is_found_among_others_by_a_subset_of_its_data() -> None:
    events = [SystemEvent("other", {}), SystemEvent("state_transition", {"from": "A", "to": "B"})]
    wanted = Expectation(events=(ExpectedEvent("state_transition", {"to": "B"}),))
    missing = Expectation(events=(ExpectedEvent("state_transition", {"to": "C"}),))
    assert _only(exchange("x", "y", events=events, expect=wanted)).passed
    assert _only(exchange("x", "y", events=events, expect=missing)).got == "other(); state_transition(from=A, to=B)"


def test_a_turn_that_was_never_reached_fails_its_expectations() -> None:
    reached, lost = exchange("a", "b"), exchange("c", "d", state="S", expect=Expectation(state="S", tools=()))
    whole = case(reached, lost)
    cut = case(reached).transcript
    checks = check_transcript(whole.scenario, cut)
    assert [(check.kind, check.passed, check.got) for check in checks] == [
        ("state", False, "(turn not reached)"),
        ("tools", False, "(turn not reached)"),
    ]


@pytest.mark.parametrize(
    ("rule", "value", "passed"),
    [
        ("must_contain", "kes 3,500", True),
        ("must_contain", "KES 4,000", False),
        ("must_not_contain", "RESERVATION", False),
        ("must_not_contain", "refund", True),
        ("regex_must_match", r"KES \d,\d{3}", True),
        ("regex_must_match", r"^PIN", False),
        ("regex_must_not_match", r"\bPIN\b", True),
        ("regex_must_not_match", r"reserv\w+", False),
        ("must_call_tool", "create_booking", True),
        ("must_call_tool", "hand_off", False),
        ("must_not_call_tool", "hand_off", True),
        ("must_not_call_tool", "create_booking", False),
        ("must_emit", "tool_call", True),
        ("must_emit", "payment", False),
        ("must_not_emit", "hand_off", True),
        ("must_not_emit", "tool_call", False),
    ],
)
def test_each_failure_rule_holds_or_not(rule: str, value: str, *, passed: bool) -> None:
    spoken = exchange("x", "Your reservation costs KES 3,500.", create("2026-04-26T14:00"))
    check = _only(spoken, rules=(FailureRule(rule, value, line=30),))
    assert (check.kind, check.passed, check.line) == ("rule", passed, 30)


def test_a_text_that_no_reply_has_is_reported_with_the_last_reply() -> None:
    check = _only(exchange("x", "Sawa."), exchange("y", "Poa."), rules=(FailureRule("must_contain", "KES"),))
    assert check.got == "no reply has it; the last one: Poa."


def test_an_event_rule_names_the_turns_of_the_event_that_the_log_tells_of() -> None:
    spoken = exchange("x", "Sawa", state="A"), exchange("y", "Sawa", state="B"), exchange("z", "Sawa", state="B")
    rules = FailureRule("must_emit", "state_transition"), FailureRule("must_not_emit", ["state_transition", "payment"])
    checks = [(check.turn, check.got, check.passed) for check in _checks(case(*spoken, rules=rules))]
    assert checks == [(0, "in turn 1, 2", True), (1, "in turn 1, 2", False), (0, "never", True)]


def test_the_customers_own_words_break_no_rule() -> None:
    assert _only(
        exchange("a reservation please", "Sawa"), rules=(FailureRule("must_not_contain", "reservation"),)
    ).passed


def test_a_list_of_values_gives_one_check_each() -> None:
    checks = _checks(case(exchange("x", "Sawa"), rules=(FailureRule("must_not_contain", ["sawa", "poa"]),)))
    assert [check.passed for check in checks] == [False, True]


def test_a_forbidden_word_deep_in_a_long_reply_is_shown() -> None:
    check = _only(
        exchange("x", "a " * 500 + "reservation" + " b" * 500), rules=(FailureRule("must_not_contain", "reservation"),)
    )
    assert (check.turn, "reservation" in check.got) == (1, True)


@pytest.mark.parametrize(
    ("rule", "value", "problem"),
    [
        ("must_be_nice", "x", "unknown rule type 'must_be_nice'"),
        ("must_refuse", "x", "'x'"),
        ("must_refuse", 0, "a turn, from 1"),
        ("must_refuse", True, "a turn, from 1"),
        ("must_emit", ["payment", "judge_call"], "'judge_call' is none of hand_off, payment"),
        ("must_not_emit", "", "non-empty"),
        ("max_hallucination_risk", 1.5, "a share from 0 to 1"),
        ("max_hallucination_risk", None, "a share from 0 to 1"),
        ("custom", "rules.py", "`module:function`"),
        ("custom", ["a.b:c", "os; rm -rf"], "'os; rm -rf'"),
        ("regex_must_match", r"(a+)+$", "a repetition inside a repetition"),
        ("regex_must_not_match", "a" * 2001, "longer than 2000 characters"),
        ("must_contain", "", "non-empty string"),
        ("must_contain", 3500, "3500"),
        ("must_contain", [], "[]"),
        ("must_contain", ["a", 1], "['a', 1]"),
        ("must_contain", None, "None"),
        ("regex_must_match", "(", "not a regular expression"),
        ("regex_must_not_match", ["ok", "[z-a]"], "'[z-a]'"),
    ],
)
def test_a_wrong_rule_says_what_is_wrong(rule: str, value: object, problem: str) -> None:
    assert problem in (validate_rule(rule, value) or "")


@pytest.mark.parametrize("rule", TEXT_AND_CALL_RULES)
def test_every_rule_about_texts_and_calls_takes_a_string(rule: str) -> None:
    assert validate_rule(rule, "word") is None


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("must_refuse", None),
        ("must_refuse", 2),
        ("max_hallucination_risk", 0.3),
        ("max_hallucination_risk", 0),
        ("custom", "rules.tone:polite"),
    ],
)
def test_the_other_rules_take_what_they_need(rule: str, value: object) -> None:
    assert validate_rule(rule, value) is None


def test_the_last_reply_must_refuse_unless_a_turn_is_named() -> None:
    spoken = (exchange("a", "Siwezi kukupa taarifa hizo."), exchange("b", "Karibu tena!"))
    assert not _only(*spoken, rules=(FailureRule("must_refuse", None),)).passed
    named = _only(*spoken, rules=(FailureRule("must_refuse", 1),))
    assert (named.passed, named.turn, named.got) == (
        True,
        1,
        "decided by phrases, a sure refusal: Siwezi kukupa taarifa hizo.",
    )
    assert not _only(*spoken, rules=(FailureRule("must_refuse", 3),)).passed


def test_a_wrong_rule_that_got_past_the_loader_fails_instead_of_passing() -> None:
    assert not _only(exchange("x", "y"), rules=(FailureRule("must_refuse", "x"),)).passed
    assert not _only(exchange("x", "y"), rules=(FailureRule("max_hallucination_risk", 0.5),)).passed


@given(st.text(), st.sampled_from(RULE_TYPES), st.text(min_size=1))
def test_no_reply_makes_a_rule_raise_or_a_check_long_or_of_two_lines(reply: str, rule: str, value: str) -> None:
    for check in _checks(case(exchange("x", reply), rules=(FailureRule(rule, value),))):
        assert len(check.got) <= 200
        assert "\n" not in check.got + check.expected
