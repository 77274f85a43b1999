"""What the stand-ins for the providers charge: the oracle that our own books are held against."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ratiba_action.model.conversation import Usage
from ratiba_action.money.pricing import ModelRates

_OF_THE_SYSTEM = ("custom", "function", "bash_20250124", "memory_20250818", "text_editor_20250728")
_FEES = ("web_search_options", "mcp_servers", "container", "background", "prediction", "audio", "cachedContent")
_ONE_TARIFF = ("embeddings", "generateContent", "converse")
_OF_GOOGLE = ("googleSearch", "codeExecution", "urlContext", "googleMaps")
_BILLED_APART = {"search", "research", "audio", "image", "computer", "realtime", "transcribe", "tts"}


@dataclass(frozen=True, slots=True)
class Charge:
    """One answer that was generated, whether or not it arrived."""

    model: str
    usage: Usage
    usd: Fraction


@dataclass(slots=True)
class Bill:
    """The charges of a provider, never rounded.

    Args:
        rates: prices by model; a model without any is charged at the ``other`` ones.
        priority: the account is set to be served first, at a dearer tariff, unless a request says otherwise.
    """

    rates: Mapping[str, ModelRates] = field(default_factory=dict)
    other: ModelRates | None = None
    charges: list[Charge] = field(default_factory=list)
    priority: bool = False

    @property
    def total(self) -> Fraction:
        """US dollars."""
        return sum((charge.usd for charge in self.charges), Fraction(0))

    def charge(self, endpoint: str, asked: Mapping[str, Any], usage: Usage) -> None:
        """Charge for an answer.

        Args:
            endpoint: that was asked; an account has one tariff of embeddings and of Gemini unless a request says so.
            asked: the request's body, as it arrived.
            usage: the tokens of the answer.
        """
        model = asked["model"]
        rates = self.rates.get(model, self.other)
        usd = Fraction(0)
        if rates is not None:
            usd = _price(rates, usage) * _tariff(asked, self.priority and endpoint not in _ONE_TARIFF) + _beside_tokens(
                asked
            )
            if "'ttl': '1h'" in str(asked):
                dearer = 2 * Fraction(rates.input_per_million) - Fraction(rates.cache_write_per_million)
                usd += dearer * usage.cache_write_tokens / 1_000_000
        self.charges.append(Charge(model, usage, usd))


def _tariff(asked: Mapping[str, Any], priority: bool) -> Fraction:  # noqa: FBT001 - as the account has it
    """How many times the list price."""
    tier = asked.get("service_tier") or asked.get("serviceTier")
    first = tier == "priority" or (priority and tier in (None, "auto"))
    fast = asked.get("speed") == "fast"
    near = asked.get("inference_geo") not in (None, "global")
    generation = asked.get("generationConfig")
    modalities = generation.get("responseModalities") if isinstance(generation, Mapping) else ()
    spoken = "audio" in (asked.get("modalities") or ()) or "AUDIO" in (modalities or ())
    return Fraction(5 if first else 1) * (6 if fast else 1) * (2 if near else 1) * (8 if spoken else 1)


def _beside_tokens(asked: Mapping[str, Any]) -> Fraction:
    """Fees of what the provider runs itself: a dollar each, so that none hides behind a generous bound."""
    tools = asked.get("tools") or []
    listed = list(tools.values()) if isinstance(tools, Mapping) else list(tools)
    kinds = [one.get("type", "custom") if isinstance(one, Mapping) else one for one in listed]
    hosted = [kind for kind in kinds if kind not in _OF_THE_SYSTEM]
    hosted += [name for tool in listed if isinstance(tool, Mapping) for name in tool if name in _OF_GOOGLE]
    fields = [name for name in _FEES if asked.get(name)]
    words = set(re.split(r"[^a-z]+", asked["model"]))
    return Fraction(len(hosted) + len(fields) + len(words & _BILLED_APART))


def _price(rates: ModelRates, usage: Usage) -> Fraction:
    dollars = (
        Fraction(rates.input_per_million) * usage.input_tokens
        + Fraction(rates.output_per_million) * usage.output_tokens
        + Fraction(rates.cache_read_per_million) * usage.cache_read_tokens
        + Fraction(rates.cache_write_per_million) * usage.cache_write_tokens
    )
    return dollars / 1_000_000
