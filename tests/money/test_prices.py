"""List prices: offline, never $0 for a model that is not known."""

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.conversation import Usage
from ratiba_action.money.prices import PriceList
from ratiba_action.money.pricing import ModelRates, parse_model_rates

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
LISTED = [
    ("claude-opus-5-5", "anthropic"),
    ("claude-haiku-4-5", "anthropic"),
    ("gpt-5.2", "openai"),
    ("gpt-4", "openai"),
]
COUNTS = st.integers(0, 300_000)
OWN = ModelRates(Decimal(1), Decimal(2), Decimal(1), Decimal(2))


def test_a_listed_model_costs_what_its_provider_asks() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    assert PriceList(at=AT).price("claude-haiku-4-5", "anthropic", usage) == 6


HOSTED = [
    ("google/gemini-2.5-flash", "https://openrouter.ai/api/v1"),
    ("gemini-2.5-flash", "https://generativelanguage.googleapis.com/v1beta/openai/"),
    ("deepseek-chat", "https://api.deepseek.com/v1"),
    ("llama-3.3-70b-versatile", "https://api.groq.com/openai/v1"),
    ("mistral-large-latest", "https://api.mistral.ai/v1"),
    ("gpt-5-2025-08-07", "https://ours.openai.azure.com/openai/v1"),
    ("us.anthropic.claude-sonnet-4-20250514-v1:0", "https://bedrock-runtime.us-east-1.amazonaws.com"),
]


@pytest.mark.parametrize(("model", "url"), HOSTED)
def test_a_model_is_priced_by_the_address_that_it_is_called_at(model: str, url: str) -> None:
    prices = PriceList(at=AT, base_urls={"openai": url})
    assert 0 < prices.price(model, "openai", Usage(900, 100)) <= prices.upper_bound(model, "openai", 900, 100)


@pytest.mark.parametrize("url", ["", "https://proxy.example/v1", "http://127.0.0.1:11434/v1"])
def test_an_address_that_the_list_does_not_know_has_the_prices_of_its_api(url: str) -> None:
    prices, usage = PriceList(at=AT, base_urls={"openai": url}), Usage(1_000, 1_000)
    assert prices.price("gpt-5.2", "openai", usage) == PriceList(at=AT).price("gpt-5.2", "openai", usage)
    with pytest.raises(ConfigurationError, match=r"'google/gemini-2\.5-flash'"):
        prices.price("google/gemini-2.5-flash", "openai", usage)


def test_a_model_that_its_host_does_not_list_has_no_price_of_another_provider() -> None:
    prices = PriceList(at=AT, base_urls={"openai": "https://api.mistral.ai/v1"})
    with pytest.raises(ConfigurationError, match=r"'gpt-5\.2'"):
        prices.price("gpt-5.2", "openai", Usage(1, 1))


def test_the_address_of_one_provider_does_not_change_the_prices_of_the_other() -> None:
    prices = PriceList(at=AT, base_urls={"openai": "https://openrouter.ai/api/v1"})
    assert prices.price("claude-haiku-4-5", "anthropic", Usage(1_000_000, 1_000_000)) == 6


def test_a_free_model_costs_nothing_and_others_are_not_free() -> None:
    prices = PriceList(parse_model_rates({"llama3.3": {"free": True}}), AT)
    assert prices.price("llama3.3", "openai", Usage(1_000_000, 1_000_000)) == 0
    assert prices.upper_bound("llama3.3", "openai", 1_000_000, 1_000_000) == 0
    with pytest.raises(ConfigurationError, match="free: true"):
        prices.require([("llama3.2", "openai")])


def test_cached_input_is_not_paid_twice() -> None:
    usage = Usage(cache_read_tokens=1_000_000, cache_write_tokens=1_000_000)
    assert PriceList(at=AT).price("claude-haiku-4-5", "anthropic", usage) == Decimal("1.35")


def test_a_configured_price_wins_over_the_list() -> None:
    prices = PriceList({"claude-haiku-4-5": OWN}, AT)
    assert prices.price("claude-haiku-4-5", "anthropic", Usage(1_000_000, 1_000_000)) == 3
    assert prices.upper_bound("claude-haiku-4-5", "anthropic", 1_000_000, 1_000_000) == 4


def test_a_configured_price_makes_an_unknown_model_known() -> None:
    prices = PriceList({"our-model": OWN}, AT)
    prices.require([("our-model", "openai")])
    assert prices.price("our-model", "openai", Usage(1_000_000, 0)) == OWN.input_per_million


def test_all_unknown_models_are_named_with_what_to_write() -> None:
    with pytest.raises(ConfigurationError) as caught:
        PriceList(at=AT).require(
            [("claude-haiku-4-5", "anthropic"), ("llama-x", "openai"), ("claude-nope", "anthropic")]
        )
    assert "'claude-nope', 'llama-x'" in caught.value.problem
    assert "claude-haiku-4-5" not in caught.value.problem
    assert "llama-x: {input_per_million" in caught.value.remedy


@pytest.mark.parametrize("provider", ["anthropic", "nobody"])
def test_an_unknown_model_or_provider_is_an_error_and_never_free(provider: str) -> None:
    prices = PriceList(at=AT)
    with pytest.raises(ConfigurationError, match="No price is known for 'nope'"):
        prices.price("nope", provider, Usage(1, 1))
    with pytest.raises(ConfigurationError, match="No price is known for 'nope'"):
        prices.upper_bound("nope", provider, 1, 1)


@given(st.sampled_from(LISTED), COUNTS, COUNTS, COUNTS, COUNTS)
def test_no_split_of_the_input_costs_more_than_the_upper_bound(
    model: tuple[str, str], fresh: int, out: int, read: int, written: int
) -> None:
    prices = PriceList(at=AT)
    cost = prices.price(*model, Usage(fresh, out, read, written))
    assert cost <= prices.upper_bound(*model, fresh + read + written, out)


@pytest.mark.processes
def test_the_price_list_is_not_loaded_before_a_price_is_asked_for() -> None:
    code = "import sys, ratiba_action.money.prices as p; p.PriceList(); print('genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("model", "address"),
    [
        ("llama-3.3-70b-versatile", "https://api.groq.com/openai/v1"),
        ("deepseek-chat", "https://api.deepseek.com"),
        ("gemini-2.5-flash", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("mistral-large-latest", "https://api.mistral.ai/v1"),
        ("anthropic/claude-sonnet-4", "https://openrouter.ai/api/v1"),
        ("openai/gpt-5", "https://openrouter.ai/api/v1"),
        ("gpt-5", "https://house.openai.azure.com/openai/deployments/gpt-5?api-version=2024-10-21"),
    ],
)
def test_a_model_has_the_price_of_the_address_that_it_is_asked_at(model: str, address: str) -> None:
    prices = PriceList(at=AT, base_urls={"elsewhere": address})
    cost = prices.price(model, "elsewhere", Usage(1_000_000, 1_000_000))
    assert 0 < cost <= prices.upper_bound(model, "elsewhere", 1_000_000, 1_000_000)


def test_an_address_that_the_list_does_not_know_has_no_price() -> None:
    prices = PriceList(at=AT, base_urls={"own": "http://127.0.0.1:11434/v1"})
    with pytest.raises(ConfigurationError, match="No price is known for 'gpt-5'"):
        prices.require([("gpt-5", "own")])
