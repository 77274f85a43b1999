"""Rules about requests: what is found in them, whatever its spelling, and what is shown of it."""

import json
from typing import Any

import pytest

from ratiba_action.checks.request_checks import MUST_NOT_SEND, MUST_SEND, RequestSearch
from ratiba_action.model.conversation import Party
from ratiba_action.model.measurement import Check
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.scenario import FailureRule

PHONE = "720555014"


def request(**body: Any) -> ModelRequest:
    return ModelRequest("spa", 0, Party.SYSTEM, 0, "openai", "chat/completions", "gpt-5", "k", 0, "s", "", body)


def search(*bodies: dict[str, Any], rule: str = MUST_NOT_SEND, text: object = PHONE) -> RequestSearch:
    found = RequestSearch([FailureRule(rule, text, 7)])
    for number, body in enumerate(bodies, 1):
        found.turn = number
        found.look(request(**body), stand_in=False)
    return found


def only(found: RequestSearch) -> Check:
    (check,) = found.checks(whole=True)
    return check


FACTS = json.dumps({"facts": {"payment": {"phone": "+254720555014", "secret": "do not show"}}})
BODIES = {
    "anthropic_system": {"system": [{"type": "text", "text": f"pay {PHONE}"}]},
    "anthropic_tool_result": {
        "messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": FACTS}]}]}]
    },
    "openai_tool": {"messages": [{"role": "tool", "content": FACTS}]},
    "openai_call": {"messages": [{"tool_calls": [{"function": {"arguments": FACTS}}]}]},
    "responses": {"input": [{"type": "function_call_output", "output": FACTS}]},
    "embeddings": {"input": [f"number {PHONE}"]},
    "number": {"messages": [{"content": '{"phone": 254720555014}'}]},
    "escaped": {"messages": [{"content": 'Facts: "\\u0037\\u0032\\u0030555014"'}]},
    "full_width": {"messages": [{"content": "７２０555014"}]},
    "in_groups": {"messages": [{"content": "+254 720 555 014"}]},
    "in_groups_with_signs": {"messages": [{"content": "(0720) 555-014"}]},
    "metadata": {"metadata": {"user_id": PHONE}},
    "name_of_a_field": {"metadata": {PHONE: 1}},
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_text_is_found_wherever_it_stands_in_a_request(body: dict[str, Any]) -> None:
    assert not only(search(body)).passed


def test_the_place_is_shown_and_nothing_that_stands_there() -> None:
    check = only(search({"messages": []}, {"messages": [{"content": "hi"}, {"content": FACTS}]}))
    assert (check.kind, check.turn, check.what, check.line) == ("rule", 2, MUST_NOT_SEND, 7)
    assert check.got == "turn 2: sent to gpt-5 in messages[1].content → facts.payment.phone"


def test_what_is_in_no_request_passes_or_fails_by_the_rule() -> None:
    clean = {"messages": [{"content": "…014"}]}
    assert only(search(clean)).passed
    assert not only(search(clean, rule=MUST_SEND)).passed
    assert only(search({"messages": [{"content": "Free at TWO\\no'clock"}]}, rule=MUST_SEND, text="free at two")).passed


def test_a_short_number_is_not_put_together_from_others() -> None:
    assert only(search({"messages": [{"content": "from 4.30 to 5.30"}]}, text="305")).passed


def test_a_conversation_that_ended_early_decides_only_what_was_sent() -> None:
    assert search({"messages": []}).checks(whole=False) == ()
    assert [one.passed for one in search({"messages": [PHONE]}).checks(whole=False)] == [False]


def test_what_answers_that_stand_in_led_to_is_only_suspected() -> None:
    found = RequestSearch([FailureRule(MUST_NOT_SEND, [PHONE, "other"])])
    found.look(request(messages=[PHONE]), stand_in=True)
    assert found.checks(whole=False) == ()
    assert [one.passed for one in found.suspected(ended=False)] == [False]
    assert [one.passed for one in found.suspected(ended=True)] == [False]
