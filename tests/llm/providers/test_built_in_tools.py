"""Tools that OpenAI runs while it answers: allowed where they have a price and a limit, and reserved at their most."""

import asyncio
import json
import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiba_action.errors import BudgetError, ConfigurationError
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.providers.bounds import OutputLimits, bounded
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from ratiba_action.model.model_request import ToolPrices
from ratiba_action.money.prices import PriceList
from tests.support.live_calls import MODELS, RATES, live_calls, paid_request
from tests.support.model_servers import Received
from tests.support.provider_faults import Altered, Served

WINDOW = 10_000
LIMITS = OutputLimits(default=100, ceiling=1_000)
FEES = {"web_search": Decimal("0.01"), "file_search": Decimal("0.0025"), "code_interpreter": Decimal("0.03")}
TOOLS = replace(RATES, tool_call_usd=FEES, context_tokens=WINDOW)
SEARCH: dict[str, Any] = {"tools": [{"type": "web_search"}], "max_tool_calls": 3}
SEARCHED = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}


def cited(*calls: dict[str, Any], note: str = "url_citation", usage: Usage | None = None) -> Altered:
    """An answer with these items before its text, which cites a page."""

    def change(answer: dict[str, Any]) -> dict[str, Any]:
        *rest, message = answer["output"]
        message["content"][0]["annotations"] = [{"type": note, "url": "https://example.com"}]
        return {**answer, "output": [*rest, *calls, message]}

    return Altered(Step("openai", text="Open until nine.", usage=usage or Usage(5_000, 50)), change)


async def test_calls_are_reserved_at_the_limit_and_booked_as_the_answer_lists_them() -> None:
    async with live_calls([cited(SEARCHED, {**SEARCHED, "id": "ws_2"})], limits=LIMITS, rates=TOOLS) as rig:
        answer = await rig.calls.call(paid_request("responses", **SEARCH))
        reserved = rig.reservations.events[0].amount
        assert reserved == TOOLS.upper_bound(4 * WINDOW, 4 * 100) + 3 * FEES["web_search"]
        assert answer.usd == rig.reservations.spent == RATES.price(Usage(5_000, 50)) + 2 * FEES["web_search"]
        assert rig.notes == []
        sent = rig.server.received[0].body
        assert (sent["tools"], sent["max_tool_calls"]) == ([{"type": "web_search"}], 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_tool_calls": None}, "how often web_search may run: max_tool_calls is None"),
        ({"max_tool_calls": 0}, "max_tool_calls is 0"),
        ({"max_tool_calls": -1}, "max_tool_calls is -1"),
        ({"max_tool_calls": True}, "max_tool_calls is True"),
        ({"max_tool_calls": "3"}, "max_tool_calls is '3'"),
        ({"max_tool_calls": 10**9}, "not a whole number from 1 to 128"),
        ({"tools": [{"type": "web_search"}, {"type": "web_search_preview"}]}, "tool_call_usd: {web_search_preview: …}"),
        ({"tools": [{"type": "web_search"}, {"type": "mcp", "server_url": "https://x.test"}]}, "the tool 'mcp'"),
        ({"tools": [{"type": "web_search"}, {"type": "image_generation"}]}, "the tool 'image_generation'"),
        ({"tools": [{"type": ["web_search"]}]}, "the tool "),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice 'file_search'"),
        ({"input": [{"type": "mcp_call", "id": "m"}]}, "'mcp_call'"),
        ({"prompt": {"id": "p"}}, "the field 'prompt'"),
        ({"service_tier": "priority"}, "service_tier 'priority'"),
    ],
)
async def test_what_still_has_no_bound_is_refused_before_anything_is_sent(change: dict[str, Any], words: str) -> None:
    async with live_calls([], limits=LIMITS, rates=TOOLS) as rig:
        with pytest.raises(ConfigurationError) as caught:
            await rig.calls.call(paid_request("responses", **{**SEARCH, **change}))
        assert words in str(caught.value)
        assert rig.server.received == ()
        assert rig.reservations.events == []


async def test_a_tool_without_a_price_is_refused_with_the_setting_that_gives_it_one() -> None:
    async with live_calls([], limits=LIMITS) as rig:
        with pytest.raises(ConfigurationError) as caught:
            await rig.calls.call(paid_request("responses", **SEARCH))
        assert "the tool 'web_search'" in caught.value.problem
        assert "tool_call_usd: {web_search: …}" in str(caught.value)


def test_a_model_whose_context_is_unknown_is_refused_with_the_setting_that_gives_it() -> None:
    request = paid_request("responses", model="our-own", **SEARCH)
    with pytest.raises(ConfigurationError, match=r"prices: \{our-own: \{context_tokens: …\}\}"):
        bounded(request, LIMITS, ToolPrices(FEES))


def test_a_context_window_comes_from_the_configuration_or_the_price_list() -> None:
    listed = replace(TOOLS, context_tokens=None)
    prices = PriceList({"gpt-5-mini": listed, "our-own": listed, "gpt-5": TOOLS, "gpt-5-nano": RATES})
    windows = [prices.tools(model, "openai").context_tokens for model in ("gpt-5-mini", "our-own", "gpt-5")]
    assert windows == [400_000, None, WINDOW]
    assert prices.tools("gpt-5-nano", "openai").usd == prices.tools("gpt-5.1", "openai").usd == {}


async def test_a_dated_tool_and_a_choice_of_it_are_known_by_their_name() -> None:
    asked: dict[str, Any] = {
        "tools": [{"type": "web_search_2025_08_26"}],
        "tool_choice": {"type": "web_search_2025_08_26"},
    }
    async with live_calls([cited(SEARCHED)], limits=LIMITS, rates=TOOLS) as rig:
        answer = await rig.calls.call(paid_request("responses", max_tool_calls=1, **asked))
        assert answer.usd == RATES.price(Usage(5_000, 50)) + FEES["web_search"]


async def test_calls_of_earlier_answers_are_read_again_up_to_the_window_and_not_paid_again() -> None:
    asked = [{"role": "user", "content": "Open?"}, SEARCHED, {"role": "user", "content": "And on Sunday?"}]
    async with live_calls([cited()], limits=LIMITS, rates=TOOLS) as rig:
        answer = await rig.calls.call(paid_request("responses", input=asked))
        assert rig.reservations.events[0].amount == TOOLS.upper_bound(WINDOW, 100)
        assert answer.usd == RATES.price(Usage(5_000, 50))


async def test_a_request_longer_than_the_window_is_bounded_by_its_own_length() -> None:
    async with live_calls([cited()], limits=LIMITS, rates=TOOLS) as rig:
        await rig.calls.call(paid_request("responses", input="x" * 3 * WINDOW, **SEARCH))
        assert rig.reservations.events[0].amount > TOOLS.upper_bound(4 * 3 * WINDOW, 400)


async def test_an_answer_that_cites_without_listing_a_call_counts_as_all_that_were_allowed() -> None:
    async with live_calls([cited()], limits=LIMITS, rates=TOOLS) as rig:
        answer = await rig.calls.call(paid_request("responses", **SEARCH))
        assert answer.usd == RATES.price(Usage(5_000, 50)) + 3 * FEES["web_search"]


@pytest.mark.parametrize(
    "item", [{"type": "image_generation_call", "id": "ig_1"}, {"type": "mcp_call", "id": "m"}, {"type": "new_call"}]
)
async def test_a_call_of_another_tool_keeps_the_whole_reservation(item: dict[str, Any]) -> None:
    async with live_calls([cited(SEARCHED, item)], limits=LIMITS, rates=TOOLS) as rig:
        answer = await rig.calls.call(paid_request("responses", **SEARCH))
        assert answer.usd == rig.reservations.events[0].amount
        assert len(rig.notes) == 1


async def test_a_search_that_may_be_either_costs_the_dearer_one() -> None:
    both = replace(TOOLS, tool_call_usd={**FEES, "web_search_preview": Decimal("0.025")})
    tools = [{"type": "web_search"}, {"type": "web_search_preview"}]
    async with live_calls([cited(SEARCHED)], limits=LIMITS, rates=both) as rig:
        answer = await rig.calls.call(paid_request("responses", tools=tools, max_tool_calls=1))
        assert answer.usd == RATES.price(Usage(5_000, 50)) + Decimal("0.025")


async def test_a_provider_that_runs_more_than_it_may_is_counted_in_full() -> None:
    many = [{**SEARCHED, "id": f"ws_{number}"} for number in range(60)]
    async with live_calls([cited(*many)], limits=LIMITS, rates=TOOLS) as rig:
        first = await rig.calls.call(paid_request("responses", **SEARCH))
        assert first.usd == RATES.price(Usage(5_000, 50)) + 60 * FEES["web_search"]
        assert first.usd > rig.reservations.events[0].amount


class Searching:
    """OpenAI, with as many calls and tokens as the request allows, or fewer; it keeps its own bill."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a test that can be run again
        self.bill = Decimal(0)

    def __call__(self, received: Received) -> Served:
        body, at_most = received.body, self._random.choice((False, True))
        allowed = body["max_tool_calls"]
        calls = allowed if at_most else self._random.randint(0, allowed)
        kinds = [self._random.choice(body["tools"])["type"] for _ in range(calls)]
        rounds = calls + 1
        read = rounds * WINDOW if at_most else self._random.randint(1, rounds * WINDOW)
        cached = self._random.randint(0, read)
        output = body["max_output_tokens"] if at_most else self._random.randint(0, body["max_output_tokens"])
        usage = Usage(read - cached, output, 0, cached)
        self.bill += RATES.price(usage) + sum((FEES[kind] for kind in kinds), Decimal(0))
        items = [{"type": f"{kind}_call", "id": f"{kind}_{number}"} for number, kind in enumerate(kinds)]
        return cited(*items, note="" if items else "url_citation", usage=usage)


async def spend(seed: int, cap: Decimal, limits: list[int]) -> None:
    provider = Searching(seed)
    tools = [{"type": kind} for kind in FEES]
    async with live_calls(provider, cap=cap, limits=LIMITS, rates=TOOLS, concurrency=5) as rig:
        requests = [
            paid_request("responses", number, tools=tools, max_tool_calls=limit) for number, limit in enumerate(limits)
        ]
        outcomes = await asyncio.gather(*map(rig.calls.call, requests), return_exceptions=True)
        assert [
            each for each in outcomes if isinstance(each, BaseException) and not isinstance(each, BudgetError)
        ] == []
        assert provider.bill <= rig.reservations.spent <= cap
        assert rig.reservations.reserved == 0


@given(
    seed=st.integers(0, 2**32),
    cap=st.decimals("0.1", "3", places=4),
    limits=st.lists(st.integers(1, 6), min_size=1, max_size=20),
)
@settings(max_examples=15, deadline=None)
def test_however_often_tools_run_the_cap_is_not_passed_and_the_bill_is_covered(
    seed: int, cap: Decimal, limits: list[int]
) -> None:
    asyncio.run(spend(seed, cap, limits))


def test_a_replayed_call_of_a_tool_is_streamed_in_openais_events() -> None:
    ran = {"type": "code_interpreter_call", "id": "ci_1", "code": "1 + 1", "container_id": "c", "status": "completed"}
    answer = {"id": "resp_1", "object": "response", "model": MODELS["responses"], "output": [SEARCHED, ran]}
    _, pieces = endpoint_named("responses").stream({}, answer, {})
    events = [json.loads(piece.split(b"data: ", 1)[1]) for piece in pieces]
    names = [each["type"].removeprefix("response.") for each in events if each["type"].count("_call")]
    assert names == [
        "web_search_call.in_progress", "web_search_call.searching", "web_search_call.completed",
        "code_interpreter_call.in_progress", "code_interpreter_call_code.delta", "code_interpreter_call_code.done",
        "code_interpreter_call.interpreting", "code_interpreter_call.completed",
    ]  # fmt: skip
    assert [each["sequence_number"] for each in events] == list(range(len(events)))
