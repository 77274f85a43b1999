"""What makes two requests one: spelling and transport do not count, everything else does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import RecordingError
from ratiba_action.llm.canonical_request import VOLATILE, prompt_digest, request_key
from ratiba_action.llm.endpoints import ENDPOINTS, endpoint_named
from ratiba_action.model.conversation import Usage

MESSAGES = endpoint_named("messages")
CHAT = endpoint_named("chat/completions")
RESPONSES = endpoint_named("responses")
EMBEDDINGS = endpoint_named("embeddings")

ANTHROPIC: dict[str, Any] = {
    "model": "claude-haiku-4-5",
    "max_tokens": 100,
    "system": "Be kind.",
    "messages": [
        {"role": "user", "content": "Habari"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "check", "input": {"at": 14}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "free"}]},
    ],
    "tools": [{"name": "check", "input_schema": {"type": "object"}}],
}
OPENAI: dict[str, Any] = {
    "model": "gpt-5.2",
    "max_completion_tokens": 100,
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Habari"}],
    "response_format": {"type": "json_object"},
}
RESPONSE: dict[str, Any] = {"model": "gpt-5.2", "instructions": "Be kind.", "input": "Habari"}
EMBEDDING: dict[str, Any] = {"model": "text-embedding-3-small", "input": "Habari"}
REQUESTS = [(MESSAGES, ANTHROPIC), (CHAT, OPENAI), (RESPONSES, RESPONSE), (EMBEDDINGS, EMBEDDING)]


@pytest.mark.parametrize(("endpoint", "body"), REQUESTS)
@given(st.dictionaries(st.sampled_from(sorted(VOLATILE)), st.booleans() | st.text() | st.none()))
def test_what_is_about_transport_billing_or_storage_does_not_count(
    endpoint: Any, body: dict[str, Any], volatile: dict[str, Any]
) -> None:
    assert request_key(endpoint, {**body, **volatile}) == request_key(endpoint, body)


@pytest.mark.parametrize(("endpoint", "body"), REQUESTS)
@given(st.text("abcdefghij_", min_size=1).filter(lambda name: name not in VOLATILE), st.integers() | st.text())
def test_a_parameter_that_nobody_knows_yet_counts(
    endpoint: Any, body: dict[str, Any], name: str, value: object
) -> None:
    assert request_key(endpoint, {**body, name: value}) != request_key(endpoint, body)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "claude-opus-5-5"},
        {"max_tokens": 101},
        {"system": "Be rude."},
        {"system": None},
        {"messages": ANTHROPIC["messages"][:1]},
        {"messages": [*ANTHROPIC["messages"][:2], {"role": "user", "content": "free"}]},
        {"tools": []},
        {"tools": [{"name": "check", "input_schema": {"type": "object", "required": ["at"]}}]},
        {"tool_choice": {"type": "any"}},
        {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
        {"temperature": 0},
        {"top_p": 0.5},
        {"stop_sequences": ["."]},
        {"thinking": {"type": "disabled"}},
    ],
)
def test_what_can_change_anthropics_answer_counts(change: dict[str, Any]) -> None:
    assert request_key(MESSAGES, {**ANTHROPIC, **change}) != request_key(MESSAGES, ANTHROPIC)


@pytest.mark.parametrize(
    "change",
    [
        {"system": [{"type": "text", "text": "Be kind."}]},
        {"system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Habari"}]}, *ANTHROPIC["messages"][1:]]},
        {"tools": [{"name": "check", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}]},
        {"max_tokens": 100.0},
        {"temperature": None},
        {"stop_sequences": []},
    ],
)
def test_anthropics_spellings_of_one_request_are_one(change: dict[str, Any]) -> None:
    assert request_key(MESSAGES, {**ANTHROPIC, **change}) == request_key(MESSAGES, ANTHROPIC)


def test_the_null_fields_that_the_sdk_adds_to_an_answer_sent_back_do_not_count() -> None:
    use = {**ANTHROPIC["messages"][1]["content"][0], "caller": None, "toolset_name": None}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "free"}]}
    sent_back = [
        ANTHROPIC["messages"][0],
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    assert request_key(MESSAGES, {**ANTHROPIC, "messages": sent_back}) == request_key(MESSAGES, ANTHROPIC)


def test_a_null_inside_a_tools_arguments_counts() -> None:
    def asked(argument: dict[str, Any]) -> str:
        use = {"type": "tool_use", "id": "toolu_1", "name": "check", "input": argument}
        return request_key(MESSAGES, {**ANTHROPIC, "messages": [{"role": "assistant", "content": [use]}]})

    assert asked({"at": None}) != asked({})


def test_openais_two_names_of_the_output_limit_are_one() -> None:
    old = {name: value for name, value in OPENAI.items() if name != "max_completion_tokens"}
    assert request_key(CHAT, {**old, "max_tokens": 100}) == request_key(CHAT, OPENAI)
    assert request_key(CHAT, {**OPENAI, "max_tokens": 7}) == request_key(CHAT, OPENAI)


@pytest.mark.parametrize(
    ("endpoint", "body", "change"),
    [
        (
            CHAT,
            OPENAI,
            {"messages": [OPENAI["messages"][0], {"role": "user", "content": [{"type": "text", "text": "Habari"}]}]},
        ),
        (RESPONSES, RESPONSE, {"input": [{"role": "user", "content": "Habari"}]}),
        (RESPONSES, RESPONSE, {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Habari"}]}]}),
        (EMBEDDINGS, EMBEDDING, {"input": ["Habari"]}),
    ],
)
def test_openais_spellings_of_one_request_are_one(endpoint: Any, body: dict[str, Any], change: dict[str, Any]) -> None:
    assert request_key(endpoint, {**body, **change}) == request_key(endpoint, body)


def test_the_same_body_for_another_endpoint_is_another_request() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Habari"}], "max_tokens": 5, "input": "Habari"}
    assert len({request_key(endpoint, body) for endpoint in ENDPOINTS[:4]}) == 4


def test_the_key_is_stable_across_releases() -> None:
    assert request_key(MESSAGES, ANTHROPIC) == "1109f7aa75f23da41305125d4a7c3632640d42738a767cc264d46690ff2d56a7"


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        (MESSAGES, ANTHROPIC),
        (CHAT, {**OPENAI, "messages": [{"role": "developer", "content": [{"type": "text", "text": "Be kind."}]}]}),
        (CHAT, OPENAI),
        (RESPONSES, RESPONSE),
        (RESPONSES, {"model": "m", "input": [{"role": "system", "content": "Be kind."}]}),
    ],
)
def test_the_system_prompt_is_found_wherever_the_provider_puts_it(endpoint: Any, body: dict[str, Any]) -> None:
    assert endpoint.system_prompt(body) == "Be kind."


@pytest.mark.parametrize(("endpoint", "body"), REQUESTS)
def test_what_the_user_said_last_is_found_past_tool_results(endpoint: Any, body: dict[str, Any]) -> None:
    assert endpoint.last_user_text(body) == "Habari"


def test_a_prompts_digest_is_the_start_of_its_sha256() -> None:
    assert prompt_digest("") == "e3b0c44298fc"
    assert len(prompt_digest("\ud800")) == 12


@pytest.mark.parametrize(
    ("endpoint", "usage", "expected"),
    [
        (
            MESSAGES,
            {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2},
            Usage(5, 7, 3, 2),
        ),
        (
            CHAT,
            {
                "prompt_tokens": 10,
                "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
            },
            Usage(5, 7, 3, 2),
        ),
        (
            RESPONSES,
            {"input_tokens": 8, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 3}},
            Usage(5, 7, 3),
        ),
        # More cached tokens than input: they stand beside it, as some providers count.
        (
            CHAT,
            {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 2}},
            Usage(1, 1, 2),
        ),
        (EMBEDDINGS, {"prompt_tokens": 8, "total_tokens": 8}, Usage(8)),
    ],
)
def test_usage_leaves_cached_tokens_out_of_the_input(endpoint: Any, usage: dict[str, Any], expected: Usage) -> None:
    assert endpoint.usage({"usage": usage}) == expected


@pytest.mark.parametrize("value", [-1, True, 1.5, "7", 10**9 + 1, 10**400, []])
@pytest.mark.parametrize(
    "usage", [lambda value: {"prompt_tokens": value}, lambda value: {"prompt_tokens_details": {"cached_tokens": value}}]
)
def test_a_count_that_is_none_is_an_error_and_not_zero(usage: Any, value: object) -> None:
    with pytest.raises(RecordingError, match="not a count of tokens"):
        CHAT.usage({"usage": usage(value)})


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("answer", [{}, {"usage": None}, {"usage": 5}])
def test_an_answer_without_usage_is_an_error_and_not_free(endpoint: Any, answer: dict[str, Any]) -> None:
    with pytest.raises(RecordingError, match="reports no usage"):
        endpoint.usage(answer)


@pytest.mark.parametrize(
    ("endpoint", "usage"),
    [
        (MESSAGES, {"input_tokens": None, "output_tokens": 1}),
        (MESSAGES, {"input_tokens": 1}),
        (MESSAGES, {"input_tokens": 0, "output_tokens": 1}),
        (CHAT, {"prompt_tokens": 1}),
        (RESPONSES, {"output_tokens": 1}),
        (EMBEDDINGS, {"total_tokens": 1}),
    ],
)
def test_a_usage_that_leaves_out_a_count_is_an_error(endpoint: Any, usage: dict[str, Any]) -> None:
    with pytest.raises(RecordingError, match="usage"):
        endpoint.usage({"usage": usage})
