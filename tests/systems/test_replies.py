"""What a worker answers is untrusted: any bytes give a reply, or an error that a person can read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import WorkerError
from ratiba_action.systems.dialogue import decode_line, describe_error, hide, parse_reply

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
FIELDS = st.fixed_dictionaries({}, optional=dict.fromkeys(("text", "state", "payment", "tool_calls", "events"), VALUES))


@given(st.binary())
def test_any_line_is_an_object_or_a_worker_error(line: bytes) -> None:
    try:
        value = decode_line(line)
    except WorkerError:
        return
    assert isinstance(value, dict)


@given(VALUES | FIELDS)
def test_any_answer_is_a_reply_that_can_be_stored_or_a_worker_error(answer: Any) -> None:
    try:
        reply = parse_reply(answer)
    except WorkerError:
        return
    json.dumps([reply.text, reply.state, [call.name for call in reply.tool_calls]], ensure_ascii=False).encode("utf-8")
    assert reply.text.encode("utf-8", "replace").decode("utf-8") == reply.text


@pytest.mark.parametrize("line", [b'{"a": NaN}', b'{"a": -Infinity}', b"[" * 100_000, b'{"a": ' + b"9" * 10_000 + b"}"])
def test_a_line_that_json_does_not_allow_is_refused(line: bytes) -> None:
    with pytest.raises(WorkerError, match="which is not JSON"):
        decode_line(line)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, "the answer has no 'text'"),
        ({"text": None}, "`text` is null, not a text"),
        ({"text": "a", "state": 1}, "`state` is a number, not a text"),
        ({"text": "a", "payment": True}, "`payment` is a boolean, not a text"),
        ({"text": "a", "tool_calls": {}}, "`tool_calls` is an object, not a list"),
        ({"text": "a", "tool_calls": [{"name": 1}]}, r"`name` of `tool_calls\[0\]` is a number"),
        ({"text": "a", "tool_calls": [{"name": "t", "args": []}]}, r"`args` of `tool_calls\[0\]` is a list"),
        (
            {"text": "a", "tool_calls": [{"name": "t", "arguments": {}}]},
            "unknown field 'arguments'; known are name, args",
        ),
        ({"text": "a", "events": [{"type": "x"}, "y"]}, r"`events\[1\]` is a text, not an object"),
        ({"text": "a", "events": [{"data": {}}]}, r"`events\[0\]` has no 'type'"),
    ],
)
def test_the_field_at_fault_is_named(answer: Any, message: str) -> None:
    with pytest.raises(WorkerError, match=message):
        parse_reply(answer)


@given(st.text(), st.text(min_size=8, alphabet="abcdef0123456789"))
def test_a_secret_in_an_error_is_never_shown(around: str, secret: str) -> None:
    error = {"type": "T", "message": around + secret + around, "traceback": secret * 3}
    assert secret not in describe_error(error, [secret])


def test_a_secret_at_the_edge_of_a_clipped_message_leaves_no_part() -> None:
    secret = "abcdefgh12345678"
    shown = describe_error({"type": "T", "message": "x" * 1990 + secret, "traceback": ""}, [secret])
    assert "abcd" not in shown


@given(st.text(st.characters()))
def test_what_an_adapter_raised_has_no_control_character_and_no_half_pair(text: str) -> None:
    shown = describe_error({"type": "T", "message": text, "traceback": text}, [])
    shown.encode("utf-8")
    assert not any(character < " " and character != "\n" for character in shown)
    assert not set(shown) & set("\u202e\u2066\u200f\u200b\x7f\x9b")


def test_a_secret_that_was_split_by_an_invisible_character_is_not_put_together_again() -> None:
    error = {"type": "T", "message": "hun\x00ter2", "traceback": "hun\u202eter2"}
    assert "hunter2" not in describe_error(error, ["hunter2"])


def test_the_longer_of_two_nested_secrets_is_hidden_whole() -> None:
    assert hide("key-long-form key", ["key", "key-long-form", ""]) == "[hidden] [hidden]"


def test_a_traceback_that_was_cut_still_begins_as_one() -> None:
    shown = describe_error({"type": "LookupError", "message": "no slot", "traceback": "line 5, in answer"}, [])
    assert shown == "LookupError: no slot\nTraceback (most recent call last):\n  \u2026\nline 5, in answer"
