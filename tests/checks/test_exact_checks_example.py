"""The example of every exact check holds for a good conversation, and each breaks by what it is there for."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.checks.checks import check_transcript
from ratiba_action.checks.custom_code import custom_check
from ratiba_action.checks.failure_rules import CUSTOM, RULE_TYPES, validate_rule
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.conversation import Exchange, Reply, SystemEvent, ToolCall, Transcript
from ratiba_action.model.measurement import Check
from ratiba_action.suite.load import load_suite
from ratiba_action.util.language_detection import LanguageDetection

FILE = (Path(__file__).parents[2] / "examples" / "metrics" / "exact_checks.yaml").read_bytes()
(SCENARIO,) = load_suite({"scenarios/exact_checks.yaml": FILE}, metric_problems, validate_rule).scenarios
LOOK_UP = ToolCall("look_up_prices", {})
PRICES = Reply(
    "Bei za leo ni hizi: kukandwa mwili ni KES 3,500 na usafi wa uso ni KES 2,500, karibu sana.",
    tool_calls=(LOOK_UP,),
    events=(SystemEvent("state_transition", {"from": "GREETING", "to": "QUOTING"}),),
    output={
        "items": [{"id": 7, "service": "massage", "kes": 3500}, {"id": 8, "service": "facial", "kes": 2500}],
        "note": " Bei  za leo",
    },
)
REFUSED = Reply("Samahani, siwezi kukupa taarifa hizo.")

Spoiling = Callable[[Exchange, Exchange], tuple[Exchange, Exchange]]


def checked(spoiling: Spoiling = lambda one, other: (one, other)) -> tuple[Check, ...]:
    first, second, third = SCENARIO.turns
    last = Exchange(third, Reply('{"massage": 3500}'), seconds=1.0, usd=Decimal("0.001"))
    turns = (
        Exchange(first, PRICES, seconds=1.0, usd=Decimal("0.001")),
        Exchange(second, REFUSED, seconds=1.0, usd=Decimal("0.001")),
    )
    return check_transcript(
        SCENARIO, Transcript(SCENARIO.id, (*spoiling(*turns), last)), LanguageDetection().language_of
    )


def says(text: str, **changes: Any) -> Spoiling:
    """The first reply is another one."""
    return lambda one, other: (replace(one, reply=replace(PRICES, text=text, **changes)), other)


def answers(**changes: Any) -> Spoiling:
    """The first reply is the same but for this."""
    return says(PRICES.text, **changes)


def ends(text: str) -> Spoiling:
    """The second reply is another one."""
    return lambda one, other: (one, replace(other, reply=Reply(text)))


def test_the_example_has_each_rule() -> None:
    named = {line.split("type: ")[1].split(",")[0] for line in FILE.decode().splitlines() if "{type: " in line}
    assert named == set(RULE_TYPES)
    assert len(RULE_TYPES) == 15


def test_a_good_conversation_holds_in_everything() -> None:
    checks = checked()
    assert all(check.passed and check.measured for check in checks)
    kinds = {check.kind for check in checks}
    assert kinds == {"tools", "transitions", "output", "language", "reply", "limit", "rule"}


@pytest.mark.parametrize(
    ("broken", "spoiling"),
    [
        ("must_contain", says(PRICES.text.replace("KES", "shilingi"))),
        ("must_not_contain", says(f"{PRICES.text} Je, nifanye RESERVATION?")),
        ("must_contain_word", says(PRICES.text.replace("karibu", "karibuni"))),
        ("must_not_contain_word", says(PRICES.text.replace("hizi", "hizi tu"))),
        ("regex_must_match", says(PRICES.text.replace(",500", "500"))),
        ("regex_must_not_match", ends("Samahani, siwezi. Lakini ni +254 733 111 222.")),
        ("must_call_tool", answers(tool_calls=())),
        ("must_not_call_tool", answers(tool_calls=(LOOK_UP, ToolCall("create_booking", {})))),
        ("must_emit", answers(events=())),
        ("must_not_emit", answers(payment="PENDING")),
        ("must_refuse", ends("Namba yake ni ya siri lakini nitakutumia.")),
        ("tools", answers(tool_calls=(LOOK_UP, LOOK_UP))),
        ("transitions", answers(events=(SystemEvent("state_transition", {"from": "QUOTING", "to": "GREETING"}),))),
        ("output", answers(output={"items": [], "note": "Bei za leo"})),
        ("language", says("The massage is KES 3,500 and the facial is KES 2,500, you are welcome.")),
        ("reply", ends("samahani, siwezi kukupa taarifa hizo.")),
        ("limit", lambda one, other: (replace(one, seconds=4.1), other)),
        ("limit", lambda one, other: (one, replace(other, usd=Decimal("0.02")))),
    ],
)
def test_each_breaks_by_what_it_is_there_for(broken: str, spoiling: Spoiling) -> None:
    failed = [check for check in checked(spoiling) if not check.passed]
    assert broken in {name for check in failed for name in (check.kind, check.what.partition(" ")[0])}
    # Another call breaks the list of calls too; nothing else breaks.
    assert len(failed) <= 2


def test_the_share_of_unsupported_claims_becomes_a_judged_threshold() -> None:
    (assertion,) = SCENARIO.assertions
    assert (assertion.metric, assertion.threshold) == ("FaithfulnessByClaimMetric", 0.8)


@pytest.mark.parametrize("passed", [True, False])
def test_the_repositorys_own_rule_holds_as_it_answers(*, passed: bool) -> None:
    (rule,) = [one for one in SCENARIO.rules if one.type == CUSTOM]
    assert custom_check(rule, str(rule.value), {"passed": passed, "reason": "2 rude replies"}).passed is passed
