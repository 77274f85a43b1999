"""Prices of the configuration: read strictly, never cheaper than the truth."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.conversation import Usage
from ratiba_action.money.pricing import ModelRates, parse_model_rates

COUNTS = st.integers(0, 10_000_000)
RATES = st.decimals(min_value="0.0001", max_value=1000, places=4)


def test_rates_are_dollars_per_million_tokens() -> None:
    rates = parse_model_rates(
        {"own": {"input_per_million": 3, "output_per_million": "15", "cache_read_per_million": 0.3}}
    )
    assert rates["own"].price(Usage(1_000_000, 1_000_000, 1_000_000)) == Decimal("18.3")


def test_caching_costs_as_much_as_it_ever_does_when_its_price_is_left_out() -> None:
    rates = parse_model_rates({"own": {"input_per_million": 3, "output_per_million": 15}})["own"]
    assert (rates.cache_read_per_million, rates.cache_write_per_million) == (Decimal(3), Decimal(6))


def test_a_call_of_a_tool_has_a_price_of_its_own_by_its_name() -> None:
    given = {"input_per_million": 1, "output_per_million": 2, "tool_call_usd": {"web_search": "0.01"}}
    rates = parse_model_rates({"own": {**given, "context_tokens": 128_000}})["own"]
    assert (rates.tool_call_usd, rates.context_tokens) == ({"web_search": Decimal("0.01")}, 128_000)


def test_every_mistake_is_reported_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_model_rates(
            {
                "free": {"input_per_million": 0, "output_per_million": -1},
                "odd": {"input_per_million": True, "output_per_million": "dear"},
                "endless": {"input_per_million": float("inf"), "output_per_million": float("nan")},
                "beyond": {"input_per_million": 1_000_001, "output_per_million": "1e400"},
                "short": {"input": 3},
                "flat": 3,
                "tools": {
                    "input_per_million": 1,
                    "output_per_million": 1,
                    "tool_call_usd": {"web_search": -1, "mcp": 1},
                    "context_tokens": 0,
                },
                "list": {
                    "input_per_million": 1,
                    "output_per_million": 1,
                    "tool_call_usd": ["web_search"],
                    "context_tokens": True,
                },
            }
        )
    for where in (
        "prices.free.input_per_million: 0 is not",
        "prices.free.output_per_million: -1 is not",
        "prices.odd.input_per_million: True is not",
        "prices.odd.output_per_million: 'dear' is not",
        "prices.endless.input_per_million: inf is not",
        "prices.endless.output_per_million: nan is not",
        "prices.beyond.input_per_million: 1000001 is not",
        "prices.beyond.output_per_million: '1e400' is not",
        "prices.short.input: unknown",
        "prices.short.input_per_million: missing",
        "prices.short.output_per_million: missing",
        "prices.flat: 3 is not a mapping",
        "prices.tools.tool_call_usd.web_search: -1 is not a price of at least 0",
        "prices.tools.tool_call_usd.mcp: unknown; allowed are web_search, web_search_preview, file_search, code_",
        "prices.tools.context_tokens: 0 is not a whole number",
        "prices.list.tool_call_usd: ['web_search'] is not a mapping",
        "prices.list.context_tokens: True is not a whole number",
    ):
        assert where in caught.value.problem
    assert "above 0" in caught.value.remedy


@given(st.builds(ModelRates, RATES, RATES, RATES, RATES), st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS))
def test_no_split_of_the_input_costs_more_than_the_upper_bound(rates: ModelRates, usage: Usage) -> None:
    asked = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    assert rates.price(usage) <= rates.upper_bound(asked, usage.output_tokens)
