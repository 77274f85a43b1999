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
    ):
        assert where in caught.value.problem
    assert "above 0" in caught.value.remedy


@given(st.builds(ModelRates, RATES, RATES, RATES, RATES), st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS))
def test_no_split_of_the_input_costs_more_than_the_upper_bound(rates: ModelRates, usage: Usage) -> None:
    asked = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    assert rates.price(usage) <= rates.upper_bound(asked, usage.output_tokens)
