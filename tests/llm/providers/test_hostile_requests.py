"""Whatever a system asks for, what a provider charges stays within what was reserved, and that within the cap.

The stand-in's account is set to the dearest tariff, and it charges a dollar for everything that it does beside tokens.
"""

import asyncio
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratiba_action.errors import BudgetError, ConfigurationError, ProviderError
from ratiba_action.llm.providers.bounds import OutputLimits
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from ratiba_action.money.prices import PriceList
from ratiba_action.money.pricing import bills_more_than_tokens
from tests.support.live_calls import MODELS, RATES, live_calls, paid_request
from tests.support.model_servers import Received
from tests.support.provider_faults import Altered, Failure, Served

ANSWER = Step("any", text="x", usage=Usage(5, 5))
LIMITS = OutputLimits(default=500, ceiling=2_000)
CAP = Decimal(3)
CACHED = [{"role": "user", "content": [{"type": "text", "text": "Habari", "cache_control": {"ttl": "1h"}}]}]
SOUND = [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x"}}]}]
TOOLS: tuple[Any, ...] = (
    {"name": "book", "input_schema": {}}, {"type": "custom", "name": "book", "input_schema": {}},
    {"type": "function", "function": {"name": "book"}}, {"type": "bash_20250124", "name": "bash"},
    {"type": "web_search"}, {"type": "web_search_20250305", "name": "web_search"}, {"type": "web_search_preview"},
    {"type": "web_fetch_20250910"}, {"type": "code_execution_20250825"}, {"type": "computer_20250124"},
    {"type": "file_search"}, {"type": "code_interpreter"}, {"type": "image_generation"}, {"type": "mcp"},
    {"type": "computer_use_preview"}, {"type": "custom_web_search"}, {"type": "function_search"}, {"type": "shell"},
    {"functionDeclarations": [{"name": "book"}]}, {"googleSearch": {}}, {"codeExecution": {}}, {"urlContext": {}},
    {"functionDeclarations": [], "googleMaps": {}}, {"type": "bash_search"}, {"type": None}, {"type": ["function"]},
    "web_search", 5, None,
)  # fmt: skip
FIELDS: dict[str, tuple[Any, ...]] = {
    "service_tier": ("auto", "default", "flex", "standard_only", "priority", "scale", "", 5, ["priority"]),
    "speed": ("fast", "standard"),
    "inference_geo": ("us", "global"),
    "modalities": (["text"], ["text", "audio"], ["audio"], "audio"),
    "audio": ({"voice": "alloy"},),
    "web_search_options": ({}, {"search_context_size": "high"}),
    "background": (True, False),
    "prediction": ({"type": "content"},),
    "mcp_servers": ([{"url": "https://x.test"}], {}),
    "container": ("c", {"skills": []}),
    "n": (1, 3, 128, 129, 0, "2"),
    "best_of": (5,),
    "max_tokens": (1, 2_000, 2_001, None, "10"),
    "max_completion_tokens": (10, 10**9),
    "max_output_tokens": (10, 10**9),
    "cache_control": ({"type": "ephemeral", "ttl": "1h"},),
    "tool_choice": ("auto", {"type": "web_search_preview"}, {"type": "function", "name": "book"}),
    "functions": ([], {"web_search": {}}),
    "messages": (CACHED, SOUND),
    "store": (True,),
    "generationConfig": (
        {"candidateCount": 3},
        {"candidateCount": 129},
        {"maxOutputTokens": "10"},
        {"maxOutputTokens": 2_001},
        5,
        {"responseModalities": ["AUDIO"]},
        {"speechConfig": {}},
        {"late_addition": 1},
        {"thinkingConfig": {}},
    ),
    "serviceTier": ("priority", "flex", "STANDARD", 5),
    "toolConfig": ({"functionCallingConfig": {"mode": "ANY"}}, {"retrievalConfig": {}}, 5),
    "cachedContent": ("cachedContents/1",),
    "late_addition": (True,),
}
NAMES = (
    "gpt-4o-search-preview", "gpt-5-search-api", "o3-deep-research", "o4-mini-deep-research-2025-06-26",
    "gpt-4o-audio-preview", "gpt-audio-mini", "gpt-image-1", "computer-use-preview", "openai/gpt-4o-search-preview",
    "GPT-4o-Search-Preview", "gpt-4o-transcribe",
)  # fmt: skip


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    endpoint = draw(st.sampled_from(tuple(MODELS)))
    names = draw(st.lists(st.sampled_from(tuple(FIELDS)), max_size=3, unique=True))
    body: dict[str, Any] = {name: draw(st.sampled_from(FIELDS[name])) for name in names}
    if draw(st.booleans()):
        tools = draw(st.lists(st.sampled_from(TOOLS), max_size=2))
        body["tools"] = draw(st.sampled_from([tools, {str(number): tool for number, tool in enumerate(tools)}]))
    body["model"] = draw(st.sampled_from((MODELS[endpoint], MODELS[endpoint], *NAMES)))
    return endpoint, body


def dearest(received: Received) -> Served:
    """As many tokens as the request can hold: one for each byte, all written to a cache, and the longest answer."""
    body, size = received.body, len(json.dumps(received.body))
    limits = [body[name] for name in ("max_tokens", "max_completion_tokens", "max_output_tokens") if body.get(name)]
    usage = Usage(1, max(limits, default=0) * (body.get("n") or 1), 0, size - 1)
    step = Step("any", text="x", usage=usage)
    if "'ttl': '1h'" not in str(body) or "messages" not in received.path:
        return step

    def with_cache_writes(answer: dict[str, Any]) -> dict[str, Any]:
        answer["usage"]["cache_creation"] = {"ephemeral_1h_input_tokens": usage.cache_write_tokens}
        return answer

    return Altered(step, with_cache_writes)


async def spend(asked: list[tuple[str, dict[str, Any]]], cap: Decimal) -> Decimal:
    """What was spent; no request was billed above its reservation."""
    async with live_calls(dearest, cap=cap, limits=LIMITS) as rig:
        rig.server.bill.priority = True
        calls = [paid_request(endpoint, number, **body) for number, (endpoint, body) in enumerate(asked)]
        outcomes = await asyncio.gather(*map(rig.calls.call, calls), return_exceptions=True)
        known = ConfigurationError | BudgetError | ProviderError
        assert [each for each in outcomes if isinstance(each, BaseException) and not isinstance(each, known)] == []
        assert rig.paid_enough(), rig.server.bill.charges
        assert rig.reservations.reserved == 0
        return rig.reservations.spent


@given(st.lists(requests(), min_size=1, max_size=12), st.sampled_from([CAP, Decimal("0.05")]))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_request_is_billed_above_what_was_reserved_for_it(
    asked: list[tuple[str, dict[str, Any]]], cap: Decimal
) -> None:
    assert asyncio.run(spend(asked, cap)) <= cap


@pytest.mark.parametrize(
    ("endpoint", "asked", "sent"),
    [
        ("messages", None, "standard_only"),
        ("messages", "auto", "standard_only"),
        ("chat/completions", None, "default"),
        ("chat/completions", "auto", "default"),
        ("chat/completions", "flex", "flex"),
        ("responses", None, "default"),
    ],
)
async def test_the_tier_is_never_the_accounts_choice(endpoint: str, asked: str | None, sent: str) -> None:
    async with live_calls(dearest, limits=LIMITS) as rig:
        await rig.calls.call(paid_request(endpoint, service_tier=asked))
        assert rig.server.received[0].body["service_tier"] == sent


async def test_embeddings_have_no_tier() -> None:
    async with live_calls(dearest, limits=LIMITS) as rig:
        await rig.calls.call(paid_request("embeddings"))
        assert "service_tier" not in rig.server.received[0].body


async def test_a_server_that_knows_no_tiers_is_asked_without_one_from_then_on() -> None:
    def strict(received: Received) -> Served:
        return Failure(422, "extra fields not permitted: service_tier") if "service_tier" in received.body else ANSWER

    async with live_calls(strict, limits=LIMITS) as rig:
        for ordinal in range(2):
            await rig.calls.call(paid_request("chat/completions", ordinal))
        assert ["service_tier" in each.body for each in rig.server.received] == [True, False, False]
        assert rig.paid_enough()


@pytest.mark.parametrize("model", NAMES)
async def test_a_model_that_bills_more_than_tokens_is_refused_unless_that_is_priced(model: str) -> None:
    async with live_calls(dearest, limits=LIMITS) as rig:
        with pytest.raises(ConfigurationError) as caught:
            await rig.calls.call(paid_request("chat/completions", model=model))
        assert repr(model) in caught.value.problem
        assert rig.server.received == ()


def test_what_is_paid_beside_tokens_is_reserved_and_booked_for_each_call() -> None:
    rates = replace(RATES, per_call_usd=Decimal("0.05"))
    prices = PriceList({"gpt-4o-search-preview": rates})
    maximum = prices.upper_bound("gpt-4o-search-preview", "openai", 1_000, 100)
    cost = prices.price("gpt-4o-search-preview", "openai", Usage(1_000, 100))
    assert maximum >= cost == RATES.price(Usage(1_000, 100)) + Decimal("0.05")


@pytest.mark.parametrize(
    "model", ["gpt-5.2", "claude-haiku-4-5", "o3", "text-embedding-3-small", "ft:gpt-4o-mini:acme:search-bot:x1"]
)
def test_a_model_of_text_is_not_taken_for_another(model: str) -> None:
    assert not bills_more_than_tokens(model)


@pytest.mark.parametrize(
    ("provider", "change"),
    [
        ("chat/completions", {"usage": {"completion_tokens_details": {"audio_tokens": 5}}}),
        ("responses", {"output": [{"type": "web_search_call", "id": "ws_1"}]}),
        ("messages", {"content": [{"type": "server_tool_use", "name": "web_search"}]}),
    ],
)
async def test_an_answer_that_was_billed_for_more_keeps_its_whole_reservation(
    provider: str, change: dict[str, Any]
) -> None:
    def changed(answer: dict[str, Any]) -> dict[str, Any]:
        usage = {**answer["usage"], **change.get("usage", {})}
        return {**answer, **change, "usage": usage}

    async with live_calls([Altered(ANSWER, changed)], limits=LIMITS) as rig:
        answer = await rig.calls.call(paid_request(provider))
        assert answer.usd == rig.reservations.spent == rig.reservations.events[0].amount > Decimal("0.001")
        assert len(rig.notes) == 1
