"""The usage of each provider as its documentation shows it, and what is made of it: nothing is booked too low."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.model.conversation import Usage
from ratiba_action.money.answer_usage import answer_usage, reported_usage

CHAT, RESPONSES, MESSAGES, GEMINI = "chat/completions", "responses", "messages", "generateContent"


@dataclass(frozen=True)
class Shape:
    """A usage, and what it is read as.

    Args:
        rest: of the answer.
        unexplained: a word of what cannot be priced; empty where everything is.
    """

    endpoint: str
    usage: dict[str, Any]
    tokens: Usage
    rest: dict[str, Any]
    usd: str | None = None
    unexplained: str = ""

    @property
    def answer(self) -> dict[str, Any]:
        """The body."""
        return {("usageMetadata" if self.endpoint == GEMINI else "usage"): self.usage, **self.rest}


def chat(tokens: Usage, usage: dict[str, Any], rest: dict[str, Any] | None = None, **read: str) -> Shape:
    return Shape(CHAT, usage, tokens, rest or {}, **read)


def responses(tokens: Usage, usage: dict[str, Any], **read: str) -> Shape:
    return Shape(RESPONSES, usage, tokens, {}, **read)


def messages(tokens: Usage, usage: dict[str, Any], rest: dict[str, Any] | None = None, **read: str) -> Shape:
    return Shape(MESSAGES, usage, tokens, rest or {}, **read)


def gemini(tokens: Usage, usage: dict[str, Any], rest: dict[str, Any] | None = None, **read: str) -> Shape:
    return Shape(GEMINI, usage, tokens, rest or {}, **read)


PLAIN = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 41}
ANTHROPIC = {"input_tokens": 30, "output_tokens": 9}
GOOGLE = {"promptTokenCount": 32, "candidatesTokenCount": 9, "totalTokenCount": 41}

SHAPES = {
    # https://platform.openai.com/docs/api-reference/chat/object
    "OpenAI": chat(
        Usage(22, 9, cache_read_tokens=10),
        {
            **PLAIN,
            "prompt_tokens_details": {"cached_tokens": 10, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 5, "audio_tokens": 0, "accepted_prediction_tokens": 2,
                "rejected_prediction_tokens": 1,
            },
        },
        {"service_tier": "default"},
    ),
    "OpenAI, details of null": chat(
        Usage(32, 9), {**PLAIN, "prompt_tokens_details": None, "completion_tokens_details": None}
    ),
    "OpenAI, written to the cache": chat(
        Usage(2, 9, cache_write_tokens=30), {**PLAIN, "prompt_tokens_details": {"cache_write_tokens": 30}}
    ),
    "OpenAI, sound in": chat(
        Usage(32, 9), {**PLAIN, "prompt_tokens_details": {"audio_tokens": 12}}, unexplained="sound"
    ),
    "OpenAI, sound out": chat(
        Usage(32, 9), {**PLAIN, "completion_tokens_details": {"audio_tokens": 4}}, unexplained="sound"
    ),
    "OpenAI, a picture out": chat(
        Usage(32, 9), {**PLAIN, "completion_tokens_details": {"image_tokens": 4}}, unexplained="image"
    ),
    "OpenAI, priority": chat(Usage(32, 9), PLAIN, {"service_tier": "priority"}, unexplained="'priority'"),
    "OpenAI, flex": chat(Usage(32, 9), PLAIN, {"service_tier": "flex"}),
    "OpenAI, a searched web": chat(
        Usage(32, 9), PLAIN,
        {"choices": [{"message": {"annotations": [{"type": "url_citation", "url_citation": {}}]}}]},
        unexplained="tools of its own",
    ),
    # https://platform.openai.com/docs/api-reference/responses/object
    "OpenAI, responses": responses(
        Usage(22, 9, cache_read_tokens=10),
        {
            "input_tokens": 32, "input_tokens_details": {"cached_tokens": 10}, "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 41,
        },
    ),
    # https://docs.x.ai/docs/api-reference: the total has the reasoning, completion_tokens has not.
    "xAI, reasoning apart": chat(
        Usage(32, 100_009),
        {
            "prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 100_041,
            "prompt_tokens_details": {"text_tokens": 32, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 100_000, "audio_tokens": 0, "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
            "num_sources_used": 0,
        },
    ),
    "xAI, its own cost": responses(
        Usage(34_597, 1_135, cache_read_tokens=896),
        {
            "input_tokens": 35_493, "input_tokens_details": {"cached_tokens": 896}, "output_tokens": 1_135,
            "output_tokens_details": {"reasoning_tokens": 708}, "total_tokens": 36_628, "num_sources_used": 0,
            "num_server_side_tools_used": 0, "cost_in_usd_ticks": 462_629_500,
            "context_details": {"input_tokens": 35_493, "output_tokens": 1_135},
        },
        usd="0.04626295",
    ),
    "xAI, a live search": chat(Usage(32, 9), {**PLAIN, "num_sources_used": 4}, unexplained="tools of its own"),
    "xAI, its tools": responses(
        Usage(32, 9),
        {
            "input_tokens": 32, "output_tokens": 9, "total_tokens": 41, "num_server_side_tools_used": 3,
            "server_side_tool_usage_details": {"x_search_calls": 3, "web_search_calls": 0},
        },
        unexplained="tools of its own",
    ),
    # https://docs.mistral.ai/api
    "Mistral": chat(Usage(32, 9), {**PLAIN, "prompt_audio_seconds": {}, "num_cached_tokens": None}),
    "Mistral, cached": chat(Usage(22, 9, cache_read_tokens=10), {**PLAIN, "num_cached_tokens": 10}),
    "Mistral, sound": chat(Usage(32, 9), {**PLAIN, "prompt_audio_seconds": 7}, unexplained="sound"),
    # https://api-docs.deepseek.com/guides/kv_cache
    "OpenAI, predictions that its sum leaves out": chat(
        Usage(32, 40),
        {
            **PLAIN,
            "completion_tokens_details": {
                "reasoning_tokens": 5, "accepted_prediction_tokens": 5, "rejected_prediction_tokens": 30,
            },
        },
    ),
    # https://help.aliyun.com/zh/model-studio/context-cache
    "Qwen, written to its cache": chat(
        Usage(12, 9, cache_write_tokens=20),
        {
            **PLAIN,
            "prompt_tokens_details": {
                "cached_tokens": 0, "cache_creation_input_tokens": 20,
                "cache_creation": {"ephemeral_5m_input_tokens": 20}, "cache_type": "ephemeral",
            },
        },
    ),
    "Anthropic, whose sum lacks what was written for an hour": messages(
        Usage(30, 9, cache_write_tokens=20),
        {**ANTHROPIC, "cache_creation_input_tokens": 0, "cache_creation": {"ephemeral_1h_input_tokens": 20}},
    ),
    "DeepSeek": chat(
        Usage(12, 9, cache_read_tokens=20),
        {
            **PLAIN, "prompt_cache_hit_tokens": 20, "prompt_cache_miss_tokens": 12,
            "prompt_tokens_details": {"cached_tokens": 20}, "completion_tokens_details": {"reasoning_tokens": 6},
        },
    ),
    # https://console.groq.com/docs/service-tiers
    "Groq": chat(
        Usage(32, 9),
        {**PLAIN, "queue_time": 0.36, "prompt_time": 0.02, "completion_time": 0.07, "total_time": 0.1},
        {"service_tier": "on_demand", "usage_breakdown": None, "x_groq": {"id": "req_1", "seed": 1}},
    ),
    "Groq, several models": chat(
        Usage(32, 9), PLAIN, {"usage_breakdown": {"models": [{"model": "m"}]}}, unexplained="tools of its own"
    ),
    "Groq, performance": chat(Usage(32, 9), PLAIN, {"service_tier": "performance"}, unexplained="'performance'"),
    # https://openrouter.ai/docs/use-cases/usage-accounting
    "OpenRouter": chat(
        Usage(32, 9),
        {
            **PLAIN, "cost": 0.0012, "is_byok": False,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0, "video_tokens": 0},
            "cost_details": {"upstream_inference_cost": 0.0012, "upstream_inference_prompt_cost": 0.0008},
            "completion_tokens_details": {"reasoning_tokens": 4, "image_tokens": 0, "audio_tokens": 0},
        },
        usd="0.0012",
    ),
    "OpenRouter, a key of one's own": chat(
        Usage(32, 9),
        {**PLAIN, "cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": 1}},
        usd="1.05",
    ),
    "OpenRouter, a search with its cost": chat(
        Usage(32, 9), {**PLAIN, "cost": 0.02, "server_tool_use": {"web_search_requests": 1}}, usd="0.02"
    ),
    "OpenRouter, a search without": chat(
        Usage(32, 9), {**PLAIN, "server_tool_use": {"web_search_requests": 1}}, unexplained="tools of its own"
    ),
    # https://learn.microsoft.com/azure/ai-services/openai/reference
    "Azure": chat(
        Usage(32, 9),
        {**PLAIN, "completion_tokens_details": {"reasoning_tokens": 4}},
        {"prompt_filter_results": [], "service_tier": None},
    ),
    # https://ai.google.dev/gemini-api/docs/openai: thoughts are in the total alone.
    "Gemini in OpenAI's format": chat(
        Usage(32, 1_009), {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 1_041}
    ),
    # https://docs.litellm.ai/docs/completion/prompt_caching
    "LiteLLM in front of Claude": chat(
        Usage(2, 9, cache_read_tokens=20, cache_write_tokens=10),
        {
            **PLAIN, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 20, "cache_creation_tokens": 10},
        },
    ),
    "a proxy whose input leaves out the cached tokens": chat(
        Usage(32, 9, cache_read_tokens=1_000),
        {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 1_041,
         "prompt_tokens_details": {"cached_tokens": 1_000}},
    ),
    "a proxy without a total": chat(
        Usage(32, 29),
        {"prompt_tokens": 32, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 20}},
    ),
    "a total that is less than its parts": chat(Usage(32, 9), {**PLAIN, "total_tokens": 9}),
    # https://docs.ollama.com/api/openai-compatibility and https://docs.vllm.ai
    "Ollama": chat(Usage(32, 9), PLAIN, {"system_fingerprint": "fp_ollama"}),
    "vLLM": chat(Usage(32, 9), {**PLAIN, "prompt_tokens_details": None}, {"service_tier": None}),
    "Moonshot": chat(Usage(22, 9, cache_read_tokens=10), {**PLAIN, "cached_tokens": 10}),
    "DeepInfra": chat(Usage(32, 9), {**PLAIN, "estimated_cost": 0.5}, usd="0.5"),
    "a cost as text": chat(Usage(32, 9), {**PLAIN, "cost": "0.5"}, usd="0.5"),
    "searches in a list": chat(
        Usage(32, 9), {**PLAIN, "extra": [{"search_queries": 3}]}, unexplained="tools of its own"
    ),
    "Perplexity": chat(
        Usage(32, 9),
        {**PLAIN, "search_context_size": "low", "num_search_queries": 2, "citation_tokens": 5},
        unexplained="tools of its own",
    ),
    "a fee that nobody knows": chat(Usage(32, 9), {**PLAIN, "gold_tokens": 3}, unexplained="'gold_tokens'"),
    # https://docs.claude.com/en/api/messages
    "Anthropic": messages(
        Usage(30, 9, cache_read_tokens=5, cache_write_tokens=7),
        {
            **ANTHROPIC, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard", "inference_geo": "not_available", "server_tool_use": None,
        },
    ),
    "Anthropic, priority": messages(
        Usage(30, 9), {**ANTHROPIC, "service_tier": "priority"}, unexplained="'priority'"
    ),
    "Anthropic, batch": messages(Usage(30, 9), {**ANTHROPIC, "service_tier": "batch"}),
    "Anthropic, in one country": messages(Usage(30, 9), {**ANTHROPIC, "inference_geo": "us"}, unexplained="'us'"),
    "Anthropic, fast": messages(Usage(30, 9), {**ANTHROPIC, "speed": "fast"}, unexplained="'fast'"),
    "Anthropic, a searched web": messages(
        Usage(30, 9),
        {**ANTHROPIC, "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0}},
        unexplained="tools of its own",
    ),
    "Anthropic, a compaction before": messages(
        Usage(210, 109),
        {
            **ANTHROPIC,
            "iterations": [
                {"type": "compaction", "input_tokens": 180, "output_tokens": 100},
                {"type": "message", "input_tokens": 30, "output_tokens": 9},
            ],
        },
    ),
    "Anthropic, another model's advice": messages(
        Usage(50, 15),
        {
            **ANTHROPIC,
            "iterations": [
                {"type": "message", "input_tokens": 30, "output_tokens": 9},
                {"type": "advisor_message", "input_tokens": 20, "output_tokens": 6},
            ],
        },
        unexplained="tools of its own",
    ),
    # https://docs.aws.amazon.com/bedrock and https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude
    "Claude on Bedrock or Vertex": messages(
        Usage(30, 9), {**ANTHROPIC, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    ),
    # https://ai.google.dev/api/generate-content#UsageMetadata
    "Gemini": gemini(
        Usage(22, 30, cache_read_tokens=10),
        {
            **GOOGLE, "cachedContentTokenCount": 10, "thoughtsTokenCount": 21, "totalTokenCount": 62,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 20}, {"modality": "IMAGE", "tokenCount": 12}],
            "serviceTier": "standard",
        },
    ),
    "Gemini, priority": gemini(Usage(32, 9), {**GOOGLE, "serviceTier": "priority"}, unexplained="'priority'"),
    "Gemini, provisioned": gemini(
        Usage(32, 9), {**GOOGLE, "trafficType": "PROVISIONED_THROUGHPUT"}, unexplained="'PROVISIONED_THROUGHPUT'"
    ),
    "Gemini, sound": gemini(
        Usage(32, 9), {**GOOGLE, "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 3}]}, unexplained="sound"
    ),
    "Gemini, grounded": gemini(
        Usage(32, 9), GOOGLE, {"candidates": [{"groundingMetadata": {"webSearchQueries": ["x"]}}]},
        unexplained="tools of its own",
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_shape_is_read_as_its_provider_means_it(shape: Shape) -> None:
    reported = answer_usage(endpoint_named(shape.endpoint), shape.answer)
    assert reported.usage == reported_usage(endpoint_named(shape.endpoint), shape.answer) == shape.tokens
    assert reported.usd == (None if shape.usd is None else Decimal(shape.usd))
    assert shape.unexplained in " ".join(reported.unexplained)
    assert bool(reported.unexplained) == bool(shape.unexplained)


COUNT = st.integers(0, 10**6)
MAYBE = st.one_of(st.none(), COUNT)


@given(
    counts=st.tuples(st.integers(1, 10**6), COUNT, MAYBE, MAYBE, MAYBE, MAYBE),
    names=st.sampled_from([(CHAT, "prompt_tokens", "completion_tokens"), (RESPONSES, "input_tokens", "output_tokens")]),
)
def test_whatever_an_openai_shape_counts_is_booked_at_least_once(
    counts: tuple[int, int, int | None, int | None, int | None, int | None], names: tuple[str, str, str]
) -> None:
    prompt, output, reasoning, cached, written, total = counts
    endpoint, asked, answered = names
    usage = {
        asked: prompt,
        answered: output,
        "total_tokens": total,
        f"{asked}_details": {"cached_tokens": cached, "cache_write_tokens": written},
        f"{answered}_details": {"reasoning_tokens": reasoning},
    }
    read = reported_usage(endpoint_named(endpoint), {"usage": usage})
    everything = read.input_tokens + read.output_tokens + read.cache_read_tokens + read.cache_write_tokens
    assert everything >= max(total or 0, prompt + output)
    assert read.output_tokens >= max(output, reasoning or 0)
    assert read.input_tokens + read.cache_read_tokens + read.cache_write_tokens >= prompt


@given(
    total=COUNT,
    counts=st.dictionaries(st.sampled_from(["cache_read_input_tokens", "cache_creation_input_tokens"]), COUNT),
)
def test_a_total_that_an_anthropic_shape_adds_is_booked(total: int, counts: dict[str, int]) -> None:
    read = reported_usage(endpoint_named(MESSAGES), {"usage": {**ANTHROPIC, **counts, "total_tokens": total}})
    everything = read.input_tokens + read.output_tokens + read.cache_read_tokens + read.cache_write_tokens
    assert everything >= max(total, 39 + sum(counts.values()))


@pytest.mark.parametrize("value", [-1, 1.5, "41", True, 10**10])
@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens", "total_tokens"])
def test_a_count_that_is_none_makes_the_usage_unusable(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"usage.{name} is "):
        answer_usage(endpoint_named(CHAT), {"usage": {**PLAIN, name: value}})


@pytest.mark.parametrize("cost", [-1, "half", True, float("inf"), 10**13])
def test_a_cost_that_cannot_be_explains_nothing(cost: object) -> None:
    reported = answer_usage(endpoint_named(CHAT), {"usage": {**PLAIN, "cost": cost, "num_sources_used": 2}})
    assert reported.usd is None
    assert reported.unexplained
