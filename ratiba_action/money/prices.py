"""List prices from the ``genai-prices`` package, offline, with prices of the configuration before them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.answering_model import is_another_model
from ratiba_action.model.conversation import Usage
from ratiba_action.model.model_request import ToolPrices
from ratiba_action.model.values import Usd
from ratiba_action.money.pricing import ModelRates, bills_more_than_tokens, round_up
from ratiba_action.settings.provider_keys import BUILT_IN

_GRAIN = 250
"""Upper bounds are of input rounded up to so many tokens: each costs a millisecond, and sizes then repeat."""


class PriceList:
    """Prices of models; a model without one is an error, never free.

    Args:
        overrides: prices of the configuration, by model; they win over the list.
        at: the moment whose prices count, None for now.
        base_urls: addresses by provider. A host that the list knows, such as OpenRouter's, has its own prices and
            model ids. At any other, a built-in provider has those of the vendor whose API it speaks, and a declared
            provider has none.
    """

    def __init__(
        self,
        overrides: Mapping[str, ModelRates] | None = None,
        at: datetime | None = None,
        *,
        base_urls: Mapping[str, str] | None = None,
    ) -> None:
        self._overrides = dict(overrides or {})
        self._at = at
        self._base_urls = {provider: url for provider, url in (base_urls or {}).items() if url}
        self._listed_ids: dict[str, str | None] = {}
        self._known: set[tuple[str, str]] = set()
        self._sold: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._bounds: dict[tuple[str, str, int, int], Usd] = {}
        # A call's price is asked for by the ledger, the event, the trial and the report.
        self._prices: dict[tuple[str, str, Usage], Usd] = {}

    def require(self, models: Iterable[tuple[str, str]]) -> None:
        """Check that each (model, provider) has a price.

        Raises:
            ConfigurationError: some have none; names all of them and how to give a price.
        """
        unknown = sorted({model for model, provider in models if not self._knows(model, provider)})
        if unknown:
            names = ", ".join(repr(model) for model in unknown)
            block = "; ".join(f"{model}: {{input_per_million: …, output_per_million: …}}" for model in unknown)
            raise ConfigurationError(
                f"No price is known for {names}.",
                f"Give US dollars per million tokens under `prices:`: {block}. For a model that you host yourself, "
                "give `free: true` instead of prices.",
            )

    def price(self, model: str, provider: str, usage: Usage) -> Usd:
        """The estimated cost of a call with this usage, rounded up to 10**-12 dollars.

        Raises:
            ConfigurationError: the model has no price.
        """
        key = (model, provider, usage)
        if key in self._prices:
            return self._prices[key]
        self.require([(model, provider)])
        if model in self._overrides:
            return self._overrides[model].price(usage)
        self._prices[key] = self._listed(model, provider, **_listed_usage(usage))
        return self._prices[key]

    def price_of_answer(self, model: str, provider: str, usage: Usage, answered_by: str) -> Usd | None:
        """What a call cost; see ``Prices.price_of_answer``.

        Nobody but the provider knows which of the two models it bills, so the higher price counts. A configured price
        holds for every snapshot of its model.

        Raises:
            ConfigurationError: the model asked for has no price.
        """
        own = self.price(model, provider, usage)
        another = is_another_model(model, answered_by)
        if not answered_by or (model in self._overrides and not another):
            return own
        sold = self._sold_as(answered_by, provider)
        if sold is not None:
            return max(own, self.price(*sold, usage))
        return None if another else own

    def upper_bound(self, model: str, provider: str, input_tokens: int, output_tokens: int) -> Usd:
        """The most that a call with at most so many tokens can cost, however its input is cached.

        Raises:
            ConfigurationError: the model has no price, or none for what it bills beside tokens.
        """
        prompt_tokens = -(-input_tokens // _GRAIN) * _GRAIN
        key = (model, provider, prompt_tokens, output_tokens)
        if key in self._bounds:
            return self._bounds[key]
        self.require([(model, provider)])
        own = self._overrides.get(model)
        if bills_more_than_tokens(model) and (own is None or own.per_call_usd is None):
            raise ConfigurationError(
                f"The model {model!r} is of a kind that bills more than tokens (searches, sound, images or steps), so "
                "the most that a call can cost is not known.",
                "Use a model of text when the system is evaluated, answer from recordings, or give the most that a "
                f"call costs beside its tokens, 0 for nothing: prices: {{{model}: {{input_per_million: …, "
                "output_per_million: …, per_call_usd: …}}.",
            )
        if model in self._overrides:
            return self._overrides[model].upper_bound(input_tokens, output_tokens)
        self._bounds[key] = self._dearest(model, provider, prompt_tokens, output_tokens)
        return self._bounds[key]

    def tools(self, model: str, provider: str) -> ToolPrices:
        """See ``Prices.tools``: the configuration's prices, and the context of the configuration or the list."""
        own = self._overrides.get(model)
        if own is None or not own.tool_call_usd:
            return ToolPrices()
        return ToolPrices(own.tool_call_usd, own.context_tokens or self._listed_context(model, provider))

    def _listed_context(self, model: str, provider: str) -> int | None:
        from genai_prices.data_snapshot import get_snapshot  # loads the price data

        try:
            _, found = get_snapshot().find_provider_model(model, None, self._listed_id(provider), None)
        except LookupError:
            return None
        return found.context_window

    def _dearest(self, model: str, provider: str, input_tokens: int, output_tokens: int) -> Usd:
        ways: tuple[dict[str, int], ...] = (
            {},
            {"cache_write_tokens": input_tokens},
            {"cache_write_tokens": input_tokens, "cache_write_1h_tokens": input_tokens},
        )
        return max(
            self._listed(model, provider, input_tokens=input_tokens, output_tokens=output_tokens, **way) for way in ways
        )

    def _sold_as(self, answered_by: str, provider: str) -> tuple[str, str] | None:
        """Model and provider whose price an answering model has; None where none is known.

        At an address that the list does not know, a model that it knows by name costs what its vendor asks.
        """
        if (answered_by, provider) not in self._sold:
            ways = ((answered_by, provider), (answered_by, ""), (answered_by.rsplit("/", 1)[-1], ""))
            self._sold[answered_by, provider] = next((way for way in ways if self._knows(*way)), None)
        return self._sold[answered_by, provider]

    def _knows(self, model: str, provider: str) -> bool:
        if model in self._overrides or (model, provider) in self._known:
            return True
        try:
            known = self._listed(model, provider, input_tokens=1_000, output_tokens=1_000) > 0
        except LookupError:
            return False
        if known:
            self._known.add((model, provider))
        return known

    def _listed(self, model: str, provider: str, **tokens: int) -> Usd:
        from genai_prices import Usage as ListedUsage  # 0.2 s; loaded when a price is first asked for
        from genai_prices import calc_price

        calculation: Any = calc_price(
            ListedUsage(**tokens), model, provider_id=self._listed_id(provider), genai_request_timestamp=self._at
        )
        return round_up(calculation.total_price)

    def _listed_id(self, provider: str) -> str | None:
        """The list's name of whoever bills the calls of a provider; None to find it by the model."""
        if provider not in self._listed_ids:
            address = self._base_urls.get(provider, "")
            listed = _host_in_list(address)
            if address and not listed and provider not in BUILT_IN:
                raise LookupError(address)
            self._listed_ids[provider] = listed or provider or None
        return self._listed_ids[provider]


def _host_in_list(base_url: str) -> str:
    """The list's name of the provider at an address; empty where it has none."""
    if not base_url:
        return ""
    from genai_prices.data_snapshot import get_snapshot  # loads the price data

    try:
        return get_snapshot().find_provider(None, None, base_url).id
    except LookupError:
        return ""


def _listed_usage(usage: Usage) -> dict[str, int]:
    """The same usage as the list counts it: there the input includes what was cached."""
    return {
        "input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
    }
