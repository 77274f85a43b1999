"""A recording holds no identifier that its scenario does not declare, and no secret."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording, Recording, find_forbidden
from ratiba_action.llm.recordings.reader import read_recordings
from ratiba_action.model.scenario import Customer, Expectation, ExpectedTool, FailureRule, Scenario, Turn
from tests.support.cases import NOW
from tests.support.suites import suite_of

PROJECT = Path(__file__).parents[3]
SCENARIO = Scenario(
    "spa_booking",
    "sw",
    (
        Turn("Tuma M-Pesa kwa 0734 559 021, risiti kwa hubby@example.com"),
        Turn("Ndio", expect=Expectation(tools=(ExpectedTool("request_payment", {"phone": "+254700111222"}),))),
        Turn(event={"type": "payment_callback", "payer": {"msisdn": 254711333444}}),
    ),
    NOW,
    Customer("Wanjiku", "+254 712 345 432"),
    rules=(FailureRule("must_contain", "0709 000 111"),),
)
STRANGER = "0799 888 777"


def anthropic(*content: dict[str, Any], **fields: Any) -> ModelRecording:
    body = {"id": "msg_0799888777", "type": "message", "content": list(content), "usage": {"input_tokens": 799888777}}
    return model({**body, **fields})


def model(response: dict[str, Any], asked: str = "Habari") -> ModelRecording:
    return ModelRecording("a" * 64, 0, "live", "anthropic", "claude-sonnet-5-5", asked, "0" * 12, response)


def text(words: str) -> ModelRecording:
    return anthropic({"type": "text", "text": words})


def judge(reason: str) -> JudgeRecording:
    usage = {"input_tokens": 1, "output_tokens": 1}
    return JudgeRecording("b" * 64, 0, "live", "fluency:1", "claude-opus-5-5", "c" * 64, 0.9, reason, usage)


def findings(*lines: ModelRecording | JudgeRecording, secrets: tuple[str, ...] = ()) -> list[str]:
    return [str(finding) for finding in find_forbidden(lines, SCENARIO, secrets)]


def test_what_the_scenario_declares_is_allowed_in_any_spelling() -> None:
    expected = "0712-345-432, +254712345432, 734 559 021, HUBBY@example.com, 0700 111 222, 0711333444, +254 709 000111"
    assert findings(text(expected)) == []


def test_a_stranger_is_found_with_line_and_field_and_shown_masked() -> None:
    assert findings(text("Karibu"), text(f"Nimetuma kwa {STRANGER}"), judge(f"It names {STRANGER}.")) == [
        "line 2, response.content[0].text: a phone number (+254***777)",
        "line 3, reason: a phone number (+254***777)",
    ]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("sifuri saba tisa tisa nane nane nane saba saba saba", "a phone number (+254***777)"),
        ("0799 halafu 888 halafu 777", "a phone number (+254***777)"),
        ("amina nukta k kwenye gmail nukta com", "an e-mail address (a***@***)"),
    ],
)
def test_what_is_said_in_words_is_found_too(words: str, found: str) -> None:
    assert findings(text(words)) == [f"line 1, response.content[0].text: {found}"]


@pytest.mark.parametrize(
    ("response", "field"),
    [
        (
            {
                "choices": [
                    {"message": {"content": None, "tool_calls": [{"function": {"name": "pay", "arguments": 0}}]}}
                ]
            },
            "response.choices[0].message.tool_calls[0].function.arguments",
        ),
        ({"choices": [{"message": {"content": 0}}]}, "response.choices[0].message.content"),
        ({"choices": [{"message": {"refusal": 0}}]}, "response.choices[0].message.refusal"),
        ({"output": [{"type": "function_call", "arguments": 0}]}, "response.output[0].arguments"),
        ({"output": [{"content": [{"type": "output_text", "text": 0}]}]}, "response.output[0].content[0].text"),
        ({"user": 0}, "response.user"),
        ({"metadata": {"customer": 0}}, "response.metadata.customer"),
    ],
)
@pytest.mark.parametrize("words", [STRANGER, json.dumps({"id": 799888777}), json.dumps({"a": [{STRANGER: True}]})])
def test_every_place_where_a_model_can_say_something_is_looked_at(
    response: dict[str, Any], field: str, words: str
) -> None:
    body = json.loads(json.dumps({**response, "usage": {}}), parse_int=lambda _: words)
    places = {finding.field for finding in find_forbidden([model(body)], SCENARIO)}
    assert places == {field}


@pytest.mark.parametrize("value", [STRANGER, 254799888777, "254799888777", ["0799.888.777"], {"id": "0799888777"}])
def test_the_arguments_of_a_tool_are_looked_at_whatever_their_names(value: object) -> None:
    call = {"type": "tool_use", "id": "toolu_0799888777", "name": "request_payment", "input": {"id": value}}
    found = find_forbidden([anthropic(call)], SCENARIO)
    assert [(one.field, one.shown) for one in found] == [("response.content[0].input", "+254***777")]


def test_an_escape_does_not_hide_a_number() -> None:
    hidden = '{"phone":"\\u0030\\u0037\\u0039\\u0039888777"}'
    assert findings(text(hidden)) == ["line 1, response.content[0].text: a phone number (+254***777)"]


def test_ids_times_and_counts_of_the_wire_are_not_looked_at() -> None:
    wire = {"created": 1767225600, "system_fingerprint": "fp_0799888777", "previous_response_id": "resp 0799888777"}
    thought = {"type": "thinking", "thinking": "Sawa", "signature": "0799888777=="}
    call = {"type": "tool_use", "id": "0799888777", "name": "look", "input": {"price_kes": 1500000}}
    assert findings(anthropic(thought, call, **wire), model({"data": [{"embedding": "0799888777"}], "usage": {}})) == []


def test_what_was_asked_is_looked_at_and_may_end_in_half_a_declared_number() -> None:
    start = "Tuma ".ljust(200 - len("0734559"), ".")
    assert findings(model({"usage": {}}, asked=f"{start}0734559")) == []
    assert findings(model({"usage": {}}, asked=f"{start}0799888")) == ["line 1, asked: a long number (***888)"]
    assert findings(model({"usage": {}}, asked="Tuma kwa 0734559")) == ["line 1, asked: a long number (***559)"]


SECRETS = ("sk-live-9f8e7d6c", "postgresql://gate:tr0ub4dor@db:5432/gate")


@pytest.mark.parametrize("secret", [*SECRETS, "tr0ub4dor"])
def test_a_secret_of_the_run_is_found_in_every_field_and_never_shown(secret: str) -> None:
    lines: list[Recording] = [
        model({"usage": {}}, asked=secret),
        anthropic(id=secret),
        anthropic({"type": "thinking", "signature": f"x{secret}x"}),
        dataclasses.replace(text("Karibu"), model=secret),
        text(json.dumps({"key": secret})),
        judge(f"quoted {secret}"),
    ]
    found = find_forbidden(lines, SCENARIO, SECRETS)
    assert [one.line for one in found] == [1, 2, 3, 4, 5, 6]
    assert not any(secret in str(one) for one in found)


def test_a_credential_of_anybody_is_found_and_never_shown() -> None:
    expected = "Use ghs_0123456789abcdef and mysql://root:hunter2@db/x"
    assert findings(text(expected)) == [
        "line 1, response.content[0].text: a GitHub token (***)",
        "line 1, response.content[0].text: a password in an address (***)",
    ]


@given(st.from_regex(r"07[0-9]{8}", fullmatch=True), st.sampled_from(["asked", "reason", "text"]))
def test_no_finding_repeats_what_it_found(number: str, where: str) -> None:
    lines: dict[str, Recording] = {
        "asked": model({"usage": {}}, asked=number),
        "reason": judge(number),
        "text": text(number),
    }
    for finding in find_forbidden([lines[where]], SCENARIO):
        assert number not in str(finding)
        assert finding.shown == f"+254***{number[-3:]}"


@pytest.mark.parametrize(
    ("repository", "folder"),
    [
        ("", "scenarios/recordings"),
        ("", "examples/pull_requests/prompt/recordings"),
        ("", "examples/pull_requests/regression/recordings"),
        ("examples/consumer", "scenarios/recordings"),
        ("examples/guest_house", "scenarios/recordings"),
        ("examples/guest_house", "../pull_requests/noise/recordings"),
        ("examples/rag_answerer", "scenarios/recordings"),
        ("examples/tool_agent", "scenarios/recordings"),
    ],
)
def test_the_recordings_of_this_repository_hold_nothing_forbidden(repository: str, folder: str) -> None:
    root = PROJECT / repository
    suite = suite_of(root)
    found = {one.id: find_forbidden(read_recordings(root / folder / f"{one.id}.jsonl"), one) for one in suite.scenarios}
    assert len(found) > 1
    assert {name: findings for name, findings in found.items() if findings} == {}
