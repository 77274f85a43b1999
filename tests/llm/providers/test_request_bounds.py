"""What a request can cost at most, and which requests nobody can tell that of."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.providers.bounds import OutputLimits, bounded
from tests.support.live_calls import paid_request

LIMITS = OutputLimits(default=100, ceiling=1_000)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"


def user(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(blocks)}]


@given(st.text())
@example("\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 300)
def test_a_text_has_no_more_tokens_than_bytes_however_it_is_normalised(text: str) -> None:
    bound = bounded(paid_request(messages=[{"role": "user", "content": text}]), LIMITS).input_tokens
    for form in ("NFC", "NFKC"):
        assert bound >= len(unicodedata.normalize(form, text).encode("utf-8", "surrogatepass"))


@given(st.lists(st.text(max_size=50), min_size=1, max_size=20))
def test_a_longer_conversation_is_never_bounded_lower(texts: list[str]) -> None:
    words = [{"role": "user", "content": text} for text in texts]
    shorter, longer = (
        bounded(paid_request(messages=each), LIMITS).input_tokens for each in (words[:-1] or words, words)
    )
    assert longer >= shorter


def test_instructions_that_a_provider_adds_for_tools_are_counted() -> None:
    tool = {"name": "book", "input_schema": {"type": "object"}}
    plain, with_tool = bounded(paid_request(), LIMITS), bounded(paid_request(tools=[tool]), LIMITS)
    assert with_tool.input_tokens - plain.input_tokens >= len(json.dumps(tool)) + 2_000


@pytest.mark.parametrize(
    ("endpoint", "changes", "output"),
    [
        ("messages", {}, 100),
        ("messages", {"max_tokens": None}, 100),
        ("messages", {"max_tokens": 1_000}, 1_000),
        ("chat/completions", {"n": 3}, 300),
        ("chat/completions", {"max_tokens": 20, "n": 2}, 40),
        ("chat/completions", {"max_tokens": 20, "max_completion_tokens": 30}, 30),
        ("responses", {"max_output_tokens": 16, "reasoning": {"effort": "high"}}, 16),
        ("embeddings", {}, 0),
    ],
)
def test_the_output_is_bounded_by_the_limit_times_the_choices(
    endpoint: str, changes: dict[str, Any], output: int
) -> None:
    assert bounded(paid_request(endpoint, **changes), LIMITS).output_tokens == output


@pytest.mark.parametrize("limit", [1_001, 0, -1, True, 1.5, "100", [], 10**30])
def test_an_output_limit_above_the_ceiling_or_without_sense_is_refused_and_not_lowered(limit: object) -> None:
    with pytest.raises(ConfigurationError, match="max_tokens is not a whole number from 1 to 1000"):
        bounded(paid_request(max_tokens=limit), LIMITS)


@pytest.mark.parametrize("choices", [0, -1, 129, True, "2", 1.5])
def test_a_number_of_choices_without_sense_is_refused(choices: object) -> None:
    with pytest.raises(ConfigurationError, match="n is not a whole number"):
        bounded(paid_request("chat/completions", n=choices), LIMITS)


@pytest.mark.parametrize(
    ("endpoint", "changes"),
    [
        ("messages", {"messages": user({"type": "image", "source": {"type": "base64", "data": PIXEL}})}),
        (
            "chat/completions",
            {"messages": user({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}})},
        ),
        ("responses", {"input": user({"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"})}),
    ],
)
def test_a_small_image_is_counted_as_the_largest(endpoint: str, changes: dict[str, Any]) -> None:
    assert bounded(paid_request(endpoint, **changes), LIMITS).input_tokens > 8_000


def test_a_thought_that_the_provider_keeps_is_counted_as_the_longest() -> None:
    kept: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
    sealed: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}]
    asked = [{"role": "user", "content": "Habari"}]
    bounds = [
        bounded(paid_request("responses", input=thought + asked), LIMITS).input_tokens for thought in (kept, sealed)
    ]
    assert bounds[0] - bounds[1] > 900


@pytest.mark.parametrize(
    ("endpoint", "changes", "words"),
    [
        ("messages", {"messages": user({"type": "image", "source": {"type": "url", "url": "x"}})}, "Base64"),
        ("messages", {"messages": user({"type": "document", "source": {"type": "base64"}})}, "pages"),
        ("messages", {"messages": user({"type": "container_upload", "file_id": "f"})}, "'container_upload'"),
        (
            "messages",
            {"messages": user({"type": "tool_result", "content": [{"type": "image", "source": {"type": "file"}}]})},
            "by reference",
        ),
        ("messages", {"tools": [{"type": "code_execution_20250825"}]}, "the tool 'code_execution_20250825'"),
        ("messages", {"mcp_servers": [{"url": "https://x.test"}]}, "the field 'mcp_servers'"),
        ("messages", {"inference_geo": "us"}, "inference_geo 'us'"),
        ("messages", {"speed": "fast"}, "speed 'fast'"),
        ("messages", {"context_management": {"edits": []}}, "the field 'context_management'"),
        ("chat/completions", {"service_tier": "priority"}, "service_tier 'priority'"),
        ("chat/completions", {"web_search_options": {}}, "the field 'web_search_options'"),
        ("chat/completions", {"prediction": {"type": "content"}}, "the field 'prediction'"),
        ("chat/completions", {"modalities": ["text", "audio"]}, "modalities"),
        ("chat/completions", {"messages": user({"type": "image_url", "image_url": {"url": "https:"}})}, "Base64"),
        ("chat/completions", {"messages": user({"type": "input_audio", "input_audio": {}})}, "'input_audio'"),
        ("chat/completions", {"messages": user({"type": "file", "file": {"file_id": "f"}})}, "pages"),
        ("chat/completions", {"messages": [{"role": "assistant", "audio": {"id": "a"}}]}, "None"),
        ("responses", {"tools": [{"type": "web_search"}, {"type": "file_search"}]}, "the tool 'file_search'"),
        ("responses", {"tools": [5, None, {"type": 5}]}, "the tool '5'"),
        ("responses", {"previous_response_id": "resp_1"}, "the field 'previous_response_id'"),
        ("responses", {"conversation": "conv_1"}, "the field 'conversation'"),
        ("responses", {"prompt": {"id": "p"}}, "the field 'prompt'"),
        ("responses", {"background": True}, "background 'True'"),
        ("responses", {"input": [{"type": "item_reference", "id": "x"}]}, "'item_reference'"),
        ("responses", {"input": [{"id": "x"}]}, "content of type 'None'"),
        ("responses", {"input": user({"type": "input_file", "file_data": "x"})}, "pages"),
        ("responses", {"input": user({"type": "input_image", "file_id": "f"})}, "by reference"),
        ("embeddings", {"late_addition": 1}, "the field 'late_addition'"),
    ],
)  # fmt: skip
def test_what_cannot_be_bounded_is_named(endpoint: str, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        bounded(paid_request(endpoint, **changes), LIMITS)
    assert words in str(caught.value)
    assert "scenario 'spa'" in str(caught.value)


def test_everything_that_cannot_be_bounded_is_named_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"the field 'mcp_servers'; the tool 'web_search', .*; max_tokens"):
        bounded(paid_request(mcp_servers=[{}], tools=[{"type": "web_search"}], max_tokens=0), LIMITS)


NAMES = st.sampled_from(["type", "content", "role", "source", "image_url", "text"])
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
)


@given(SHAPES)
def test_no_shape_of_a_message_breaks_the_look_through(message: Any) -> None:
    for endpoint, name in (("messages", "messages"), ("chat/completions", "messages"), ("responses", "input")):
        body: dict[str, Any] = {name: [message]}
        found = endpoint_named(endpoint).contents(body)
        assert found == endpoint_named(endpoint).contents(body)
        assert all(isinstance(problem, str) and problem for problem in found.problems)
