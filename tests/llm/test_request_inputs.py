"""Which input of a model call changed since it was recorded, in the words of whoever changed it."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ratiba_action.llm.canonical_request import prompt_digest, request_key
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.recordings.reader import parse_recordings
from ratiba_action.llm.recordings.writer import render_recordings
from ratiba_action.llm.request_inputs import changed_inputs, request_inputs
from ratiba_action.model.conversation import Party
from ratiba_action.model.model_request import ModelRequest

PROMPT = "You answer questions about orders.\nToday is Monday."
SHIPPED, LOST = '{"status": "shipped"}', '{"error": "not found"}'


def anthropic(result: str = SHIPPED, **changes: Any) -> ModelRequest:
    called = {"type": "tool_use", "id": "toolu_1", "name": "order_status", "input": {"order": "A-1001"}}
    messages = [
        {"role": "user", "content": "Where is A-1001?"},
        {"role": "assistant", "content": [called]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}]},
    ]
    return request("anthropic", "messages", {"max_tokens": 300, "system": PROMPT, "messages": messages, **changes})


def chat(result: str = SHIPPED, **changes: Any) -> ModelRequest:
    called = {"id": "call_1", "type": "function", "function": {"name": "order_status", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": PROMPT},
        {"role": "user", "content": "Where is A-1001?"},
        {"role": "assistant", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "call_1", "content": result},
    ]
    return request("openai", "chat/completions", {"max_tokens": 300, "messages": messages, **changes})


def gemini(result: str = SHIPPED, **changes: Any) -> ModelRequest:
    called = {"functionCall": {"id": "call_1", "name": "order_status", "args": {"order": "A-1001"}}}
    given = {"functionResponse": {"id": "call_1", "name": "order_status", "response": json.loads(result)}}
    contents = [
        {"role": "user", "parts": [{"text": "Where is A-1001?"}]},
        {"role": "model", "parts": [called]},
        {"role": "user", "parts": [given]},
    ]
    generation = {"maxOutputTokens": 300, **changes.pop("generationConfig", {})}
    body = {"systemInstruction": {"parts": [{"text": PROMPT}]}, "contents": contents, "generationConfig": generation}
    return request("gemini", "generateContent", {**body, **changes})


def responses(result: str = SHIPPED, **changes: Any) -> ModelRequest:
    items = [
        {"role": "user", "content": "Where is A-1001?"},
        {"type": "function_call", "call_id": "call_1", "name": "order_status", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": result},
    ]
    return request("openai", "responses", {"instructions": PROMPT, "input": items, **changes})


def request(provider: str, name: str, body: Mapping[str, Any]) -> ModelRequest:
    body, endpoint = {"model": "a-model", **body}, endpoint_named(name)
    prompt, asked = prompt_digest(endpoint.system_prompt(body)), endpoint.last_user_text(body)
    key = request_key(endpoint, body)
    return ModelRequest("spa", 0, Party.SYSTEM, 1, provider, name, body["model"], key, 0, prompt, asked, body)


def recorded(asked: ModelRequest) -> ModelRecording:
    """As it is read back from its file."""
    line = ModelRecording(
        asked.key, 0, "live", asked.provider, asked.model, asked.last_message, asked.system, {"usage": {}},
        inputs=request_inputs(asked),
    )  # fmt: skip
    (read,) = parse_recordings(render_recordings([line]), "spa.jsonl")
    assert isinstance(read, ModelRecording)
    assert read.inputs == line.inputs
    return read


def changed(before: ModelRequest, after: ModelRequest, edited_prompts: Sequence[str] = ()) -> tuple[str, ...]:
    return changed_inputs(recorded(before), after, edited_prompts)


@pytest.mark.parametrize("endpoint", [anthropic, chat, responses])
def test_the_result_of_a_tool_is_shown_as_it_was_and_as_it_is(endpoint: Any) -> None:
    text = 'the result of the tool order_status changed ({"status": "shipped"} → {"error": "not found"})'
    assert changed(endpoint(), endpoint(LOST)) == (text,)


def test_the_result_of_a_function_of_gemini_is_shown_too_and_a_parameter_by_its_own_name() -> None:
    text = 'the result of the tool order_status changed ({"status":"shipped"} → {"error":"not found"})'
    assert changed(gemini(), gemini(LOST)) == (text,)
    (parameter,) = changed(gemini(), gemini(generationConfig={"temperature": 0.5}))
    assert parameter == "the parameter temperature changed (none → 0.5)"


@pytest.mark.parametrize("endpoint", [anthropic, chat, responses, gemini])
def test_the_same_request_has_no_changed_input(endpoint: Any) -> None:
    assert changed(endpoint(), endpoint()) == ()


def test_an_edited_prompt_file_is_named() -> None:
    edited = anthropic(system=PROMPT.replace("orders", "parcels"))
    assert changed(anthropic(), edited, ["prompts/support.md"]) == ("this change edits prompts/support.md",)


def test_so_is_one_whose_text_reaches_the_model_in_a_message() -> None:
    before, after = (
        anthropic(messages=[{"role": "user", "content": f"{'House rules. ' * 40}Free until {hours} hours before."}])
        for hours in (24, 2)
    )
    message, file = changed(before, after, ["house_rules/cancellation.md"])
    assert "Free until 2 hours" in message
    assert file == "this change edits house_rules/cancellation.md"
    assert changed(before, before, ["house_rules/cancellation.md"]) == ()


@pytest.mark.parametrize(
    "value", ["Sun Nov 22 23:31:55 2026", "2026-11-22T23:31", "1795390315", "7f3c2b1a-0000-4000-8000-00a1b2c3d4e5"]
)
def test_a_value_that_is_new_in_each_run_is_recognised_in_the_prompt(value: str) -> None:
    (reported,) = changed(anthropic(), anthropic(system=f"{PROMPT}\nNow: {value}"))
    assert (
        reported
        == f"line 3 of the system prompt changed and is now 'Now: {value}', which holds a time, a date or an id"
    )


def test_and_in_a_message_where_nothing_else_differs() -> None:
    at = [[{"role": "user", "content": f"Hello (sent {time})"}] for time in ("08:15:03", "09:20:41")]
    (reported,) = changed(anthropic(messages=at[0]), anthropic(messages=at[1]))
    assert reported == (
        "the customer's message to the model changed ('Hello (sent 08:15:03)' → 'Hello (sent 09:20:41)'), which holds "
        "a time, a date or an id"
    )
    (other,) = changed(anthropic(messages=at[0]), anthropic(messages=[{"role": "user", "content": "Bye at 08:15:03"}]))
    assert "which holds" not in other


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "another"}, "the system calls the model 'another' where 'a-model' was recorded"),
        ({"temperature": 0.5}, "the parameter temperature changed (none → 0.5)"),
        (
            {"tools": [{"name": "refund", "input_schema": {"type": "object"}}]},
            "the tools that the model is given changed (a name, a description or a parameter of one)",
        ),
    ],
)
def test_model_parameters_and_tools_are_named(change: Mapping[str, Any], message: str) -> None:
    assert changed(anthropic(), anthropic(**change)) == (message,)


def test_an_earlier_message_that_the_system_rewrites_is_shown() -> None:
    asked = anthropic()
    rewritten = [{"role": "user", "content": "Summary: an order"}, *asked.body["messages"][1:]]
    found = changed(asked, anthropic(messages=rewritten, system=PROMPT))
    assert found == ("the customer's message to the model changed ('Where is A-1001?' → 'Summary: an order')",)


def test_a_long_result_is_shown_from_shortly_before_its_first_difference() -> None:
    long = '{"orders": "' + "x" * 200
    (reported,) = changed(anthropic(f"{long}1"), anthropic(f"{long}2"))
    assert reported == f"the result of the tool order_status changed ('…{'x' * 20}1' → '…{'x' * 20}2')"


def test_what_identifies_a_person_is_not_kept() -> None:
    kept = str(request_inputs(anthropic('{"phone": "+254 712 345 432"}')))
    assert "712" not in kept
    (reported,) = changed(anthropic('{"phone": "+254 712 345 432"}'), anthropic('{"phone": "+254 713 345 432"}'))
    assert "713" not in reported


def test_no_credential_is_kept_or_shown() -> None:
    secret = "sk-proj-" + "a1B2c3D4" * 6
    assert secret not in str(request_inputs(anthropic(f'{{"key": "{secret}"}}')))
    found = changed(anthropic(), anthropic(f'{{"key": "{secret}"}}', system=f"Use {secret}.", temperature=0.1))
    assert len(found) == 3
    assert secret not in str(found)


def test_an_older_recording_still_says_what_it_can() -> None:
    old = dataclasses.replace(recorded(anthropic()), inputs=None)
    (reported,) = changed_inputs(old, anthropic(system="Be rude."), ())
    assert reported.startswith("the system prompt changed (its digest is ")
    assert changed_inputs(old, anthropic(LOST), ()) == ()
