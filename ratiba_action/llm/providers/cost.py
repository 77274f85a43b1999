"""What an answered call cost."""

from collections.abc import Mapping
from typing import Any

from ratiba_action.model.conversation import Usage
from ratiba_action.model.model_request import PaidRequest
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.money.reported_usage import long_cache_writes, reported_usage
from ratiba_action.ports import Prices

_LIST_PRICE_TIERS = ("auto", "default", "standard", "standard_only", "flex", "batch")
_OWN_CALLS = ("function_call", "custom_tool_call")
_LIST_PRICE_PLACES = (None, "", "global", "not_available")


def usage_and_cost(request: PaidRequest, answer: JsonObject, prices: Prices) -> tuple[Usage, Usd]:
    """The tokens of an answer and their price.

    Args:
        request: what was asked; its model decides the price.
        answer: the provider's whole body.
        prices: what tokens cost.

    Raises:
        ValueError: the usage cannot be used, or the call was billed by another tariff than the list's.
        ConfigurationError: the model has no price.
    """
    usage = reported_usage(request.provider, request.endpoint, answer)
    _refuse_other_tariffs(answer)
    if long_cache_writes(answer):
        # The list has one price for a token that was written to a cache; for an hour's the dearest way is counted.
        asked = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        return usage, prices.upper_bound(request.model, request.provider, asked, usage.output_tokens)
    return usage, prices.price(request.model, request.provider, usage)


def _refuse_other_tariffs(answer: JsonObject) -> None:
    usage = answer["usage"]
    for tier in (answer.get("service_tier"), usage.get("service_tier")):
        if tier is not None and tier not in _LIST_PRICE_TIERS:
            raise ValueError(f"it was served by the tier {str(tier)[:40]!r}, whose prices are not known")
    if usage.get("inference_geo") not in _LIST_PRICE_PLACES:
        raise ValueError(f"it was made in {str(usage['inference_geo'])[:40]!r}, which costs more than the list price")
    tools = usage.get("server_tool_use")
    if (any(tools.values()) if isinstance(tools, Mapping) else tools) or any(map(_ran_by_provider, _items(answer))):
        raise ValueError("the provider ran tools of its own, which are billed apart")
    details = [value for name, value in usage.items() if str(name).endswith("_details") and isinstance(value, Mapping)]
    if any(each.get("audio_tokens") for each in details):
        raise ValueError("it holds sound, whose tokens cost more than those of text")


def _items(answer: JsonObject) -> list[Any]:
    """What an answer consists of, in Anthropic's and in OpenAI's words."""
    return [item for name in ("content", "output") if isinstance(items := answer.get(name), list) for item in items]


def _ran_by_provider(item: Any) -> bool:
    kind = str(item.get("type")) if isinstance(item, Mapping) else ""
    return kind == "server_tool_use" or (kind.endswith("_call") and kind not in _OWN_CALLS)
