"""Which names are of one model, and which are certainly of two: the table of ``is_another_model``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.answering_model import (
    answering_model,
    is_another_model,
    may_be_another_model,
    spelled_otherwise,
)

ONE_MODEL = [
    ("gpt-5", "gpt-5-2026-01-01"),
    ("gpt-5", "gpt-5"),
    ("claude-opus-5-5", "claude-opus-5-5-20260101"),
    ("claude-opus-5-5-latest", "claude-opus-5-5-20260101"),
    ("claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"),
    ("openai/gpt-5", "gpt-5-2025-08-07"),
    ("gpt-5", "openai/gpt-5"),
    ("models/gemini-2.5-flash", "gemini-2.5-flash"),
    ("gemini-2.5-pro", "gemini-2.5-pro-preview-05-06"),
    ("gemini-2.0-flash", "gemini-2.0-flash-001"),
    ("gemini-flash-latest", "gemini-2.5-flash-preview-09-2025"),
    ("gemini-2.0-flash-exp", "gemini-2.0-flash"),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
    ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet-20241022"),
    ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
    (
        "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5-20250929",
    ),
    ("anthropic/claude-sonnet-4", "anthropic/claude-4-sonnet-20250522"),
    ("claude-sonnet-4-0", "claude-sonnet-4-20250514"),
    ("anthropic/claude-3.5-sonnet", "claude-3-5-sonnet-20240620"),
    ("claude-3-opus", "claude-opus-3"),
    ("gpt-35-turbo", "gpt-3.5-turbo-0125"),
    ("gpt-4", "gpt-4-0613"),
    ("gpt-4-turbo", "gpt-4-turbo-2024-04-09"),
    ("gpt-4o", "gpt-4o-2024-08-06"),
    ("o3", "o3-2025-04-16"),
    ("o4-mini", "o4-mini-2025-04-16"),
    ("chatgpt-4o-latest", "chatgpt-4o-latest"),
    ("gpt-5-chat-latest", "gpt-5-chat"),
    ("gpt-4-turbo-preview", "gpt-4-0125-preview"),
    ("mistral-large-latest", "mistral-large-2411"),
    ("mistral-large-latest", "mistral-large-3"),
    ("mistral-small-latest", "mistral-small-2503"),
    ("grok-4", "grok-4-0709"),
    ("grok-2-latest", "grok-2-1212"),
    ("grok-4.20", "grok-4.20-0309"),
    ("deepseek-chat", "deepseek-v3.2"),
    ("deepseek-reasoner", "deepseek-v3.2"),
    ("deepseek-chat", "DeepSeek-V3-0324"),
    ("deepseek/deepseek-chat", "deepseek-chat"),
    ("llama-3.3-70b-versatile", "llama-3.3-70b-versatile"),
    ("meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
    ("llama3.3:70b", "Meta-Llama-3.3-70B-Instruct-Q4_K_M.gguf"),
    ("qwen3:32b", "Qwen/Qwen3-32B-AWQ"),
    ("qwen3:32b", "qwen3:32b-q4_K_M"),
    ("qwen3", "qwen3:latest"),
    ("qwen2.5:0.5b", "Qwen2.5-0.5B-Instruct"),
    ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1"),
    ("team-judge", "claude-sonnet-4-5-20250929"),
    ("judge", "gpt-5-mini"),
    ("gpt-judge", "gpt-5-mini-2025-08-07"),
    ("claude-prod", "claude-opus-4-5"),
    ("Qwen/Qwen3-32B", "/models/weights.gguf"),
    ("tgi", "Qwen3"),
    ("openrouter/auto", "openai/gpt-5"),
    ("model-router", "gpt-5-nano-2025-08-07"),
    ("ft:gpt-4o-mini-2024-07-18:acme::abc", "ft:gpt-4o-mini-2024-07-18:acme::abc"),
    ("ft:gpt-4o-mini-2024-07-18:acme::abc", "gpt-4o-mini-2024-07-18"),
    ("gpt-5", ""),
    ("Claude-Opus-5.5", "claude-opus-5-5"),
    ("accounts/fireworks/models/llama-v3p1-70b-instruct", "accounts/fireworks/models/llama-v3p1-70b-instruct"),
    ("accounts/fireworks/models/llama-v3p1-70b-instruct", "llama-3.1-70b-instruct"),
    ("amazon.nova-pro-v1:0", "nova-pro"),
    ("us.amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"),
    ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
    ("openai/gpt-oss-120b", "gpt-oss-120b"),
    ("command-r-plus", "command-r-plus-08-2024"),
    ("us.meta.llama3-3-70b-instruct-v1:0", "llama-3.3-70b-instruct"),
    ("mistral.mistral-large-2407-v1:0", "mistral-large-2407"),
    ("gemini-3-pro-preview", "gemini-3-pro"),
    ("meta.llama3-1-70b-instruct-v1:0", "meta-llama/llama-3.1-70b-instruct"),
    ("gpt-oss:120b", "gpt-oss-120b"),
    ("gpt-oss:20b-cloud", "gpt-oss-20b"),
    ("qwen/qwen3-235b-a22b-2507", "qwen3-235b-a22b-instruct-2507"),
    ("moonshotai/kimi-k2-0905", "kimi-k2-0905-preview"),
    ("gemini-2.5-flash-lite", "gemini-2.5-flash-lite-preview-06-17"),
    ("google/gemini-2.5-flash", "gemini-2.5-flash"),
    ("anthropic/claude-opus-5.5:beta", "claude-opus-5-5"),
    ("anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet-20250219"),
    ("gpt-4.1", "gpt-4.1-2025-04-14"),
    ("gpt-5.6-luna", "openai/gpt-5.6-luna"),
    ("text-embedding-3-small", "text-embedding-3-small"),
    ("text-embedding-ada-002", "text-embedding-ada-002-v2"),
    ("claude-opus-4-1", "claude-opus-4-1-20250805"),
    ("azure/gpt-5", "gpt-5-2025-08-07"),
    ("vertex_ai/claude-sonnet-4-5", "claude-sonnet-4-5@20250929"),
    ("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
    ("gemini/gemini-2.5-pro", "gemini-2.5-pro"),
    ("gpt-4o-audio-preview", "gpt-4o-audio-preview-2024-12-17"),
    ("grok-4-fast", "grok-4-fast-reasoning"),
    ("claude-haiku-4-5", "global.anthropic.claude-haiku-4-5-20251001-v1:0"),
    ("glm-4.6", "zai-org/GLM-4.6-FP8"),
    ("phi4", "phi-4"),
    ("gpt-3.5-turbo", "gpt-3.5-turbo-0125"),
    ("mistral-small", "mistralai/Mistral-Small-3.2-24B-Instruct-2506"),
    ("claude-sonnet-4", "claude-sonnet-4-20250514"),
    ("gpt-4o-prod", "gpt-4o-2024-11-20"),
    ("azure/gpt-4o-staging", "gpt-4o-2024-08-06"),
    ("openai/gpt-5-mini:free", "gpt-5-mini-2025-08-07"),
    ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "models/gemini-2.5-pro-preview-06-05"),
    ("jp.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
    ("@cf/meta/llama-3.1-8b-instruct", "llama-3.1-8b-instant"),
    ("ollama/llama3.1:8b-instruct-q4_K_M", "llama3.1:8b"),
    ("deepseek-chat", "deepseek-chat-v3-0324"),
    ("deepseek-chat-v3.1", "deepseek-v3.1"),
    ("command-a-03-2025", "command-a"),
]
"""Snapshots, aliases, prefixes of providers, and names that say too little to be distrusted."""

TWO_MODELS = [
    ("claude-opus-5-5", "claude-haiku-4-5"),
    ("claude-opus-5-5", "claude-opus-5"),
    ("claude-opus-5-5", "claude-sonnet-5-5"),
    ("claude-opus-4-1", "claude-opus-4-5-20251101"),
    ("gpt-5", "gpt-5-mini-2025-08-07"),
    ("gpt-5-mini", "gpt-5-pro-2025-10-06"),
    ("gpt-5-mini", "gpt-5"),
    ("gpt-5", "gpt-5.1"),
    ("gpt-5", "gpt-4o-2024-08-06"),
    ("gpt-4o", "gpt-4o-mini"),
    ("gpt-4", "gpt-4o"),
    ("gpt-4", "gpt-4-32k-0613"),
    ("gpt-4", "gpt-4-turbo-2024-04-09"),
    ("gpt-5", "claude-sonnet-4-5-20250929"),
    ("gpt-4", "Qwen/Qwen2.5-72B-Instruct"),
    ("gemini-2.5-pro", "gemini-2.5-flash"),
    ("gemini-2.5-flash", "gemini-2.5-flash-lite"),
    ("gemini-flash-latest", "gemini-2.5-pro"),
    ("gemini-2.5-pro", "gemini-3-pro"),
    ("o3", "o3-mini"),
    ("o3", "o4-mini"),
    ("o1", "gpt-4o"),
    ("mistral-large-latest", "mistral-small-2503"),
    ("grok-4", "grok-3"),
    ("grok-3", "grok-3-mini"),
    ("llama-3.3-70b-versatile", "llama-3.1-8b-instant"),
    ("qwen3:32b", "qwen3:8b"),
    ("deepseek-v3", "deepseek-r1"),
    ("claude-opus-5-5", "gemini-2.5-pro"),
    ("anthropic/claude-opus-5.5", "openai/gpt-5"),
    ("us.anthropic.claude-opus-5-5-v1:0", "claude-haiku-4-5-20251001"),
    ("openai/gpt-oss-120b", "openai/gpt-oss-20b"),
    ("gpt-oss-120b", "gpt-5"),
    ("claude-fable-5", "claude-opus-5"),
    ("gpt-6", "gpt-6-ultra"),
    ("claude-opus-latest", "claude-haiku-4-5"),
    ("gpt-5", "gpt-5-codex"),
    ("command-r-plus", "command-r-08-2024"),
    ("amazon.nova-pro-v1:0", "nova-lite"),
    ("claude-opus-5-5", "claude-opus-5-55"),
    ("gpt-5.6-luna", "gpt-5.6-terra"),
    ("gpt-3.5-turbo", "gpt-4o-mini"),
    ("qwen3-coder", "qwen3-max"),
    ("mistral-large-2411", "ministral-8b-2410"),
    ("o1", "o1-pro-2025-03-19"),
    ("gpt-4.1", "gpt-4.1-nano"),
    ("claude-3-5-haiku", "claude-3-5-sonnet-20241022"),
    ("claude-3-7-sonnet", "claude-3-5-sonnet-20241022"),
    ("claude-sonnet-4-5", "jamba-1.5-large"),
    ("gpt-5", "yi-34b"),
    ("sonar", "sonar-pro"),
    ("MiniMax-M2", "minimax-m1"),
    ("granite-3.1-8b", "gpt-5"),
    ("gpt-5", "gpt-5-chat-latest"),
    ("deepseek-chat", "deepseek-reasoner"),
    ("llama-4-maverick", "llama-4-scout"),
    ("phi-4", "phi-4-mini"),
    ("glm-4.5-air", "glm-4.5"),
    ("qwen-max", "qwen-turbo"),
    ("kimi-k2", "kimi-k2-turbo-preview"),
]


@pytest.mark.parametrize(("asked", "answered"), ONE_MODEL)
def test_another_spelling_is_not_another_model(asked: str, answered: str) -> None:
    assert not is_another_model(asked, answered)
    assert not is_another_model(answered, asked)


@pytest.mark.parametrize(("asked", "answered"), TWO_MODELS)
def test_another_family_version_size_or_tier_is_another_model(asked: str, answered: str) -> None:
    assert is_another_model(asked, answered)
    assert is_another_model(answered, asked)


@pytest.mark.parametrize(
    ("asked", "answered", "doubtful"),
    [
        ("claude-sonnet-4-5", "hermes-4-405b", True),
        ("gpt-5", "falcon", True),
        ("gpt-5", "gpt-5-2025-08-07", False),
        ("gpt-5", "claude-opus-5", False),
        ("gpt-5", "", False),
        ("team-judge", "falcon", False),
        ("gpt-judge", "falcon", False),
        ("qwen3:32b", "/models/weights.gguf", False),
    ],
)
def test_a_name_of_nobody_in_answer_to_a_version_of_a_vendor_is_doubtful(
    asked: str, answered: str, *, doubtful: bool
) -> None:
    assert may_be_another_model(asked, answered) is doubtful


@given(asked=st.text(max_size=60), answered=st.text(max_size=60))
def test_any_names_are_compared_and_in_either_order_alike(asked: str, answered: str) -> None:
    assert is_another_model(asked, asked) is False
    if asked and answered:
        assert is_another_model(asked, answered) == is_another_model(answered, asked)


@given(name=st.sampled_from([asked for asked, _ in TWO_MODELS]), prefix=st.sampled_from(["openai/", "models/", "x/y/"]))
def test_a_prefix_of_whoever_serves_a_model_never_makes_it_another(name: str, prefix: str) -> None:
    assert not is_another_model(name, f"{prefix}{name}")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"model": "gpt-5-2025-08-07"}, "gpt-5-2025-08-07"),
        ({"modelVersion": "gemini-2.5-flash"}, "gemini-2.5-flash"),
        ({"model": None}, ""),
        ({"model": 5}, ""),
        ({"model": "two\nlines"}, "two-lines"),
        ({"model": "C:\\weights\\a b.gguf"}, "C:-weights-a-b.gguf"),
        ({"model": "x" * 500}, "x" * 200),
        ({}, ""),
    ],
)
def test_the_answer_names_the_model_in_either_format(body: dict[str, object], name: str) -> None:
    assert answering_model(body) == name


def test_only_another_spelling_is_worth_writing_down() -> None:
    assert spelled_otherwise("claude-opus-5-5", "claude-opus-5-5") == ""
    assert spelled_otherwise("gpt-5", "gpt-5-2025-08-07") == "gpt-5-2025-08-07"
    assert spelled_otherwise("gpt-5", "") == ""
