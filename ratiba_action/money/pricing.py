"""Exact amounts of money, names of models, and what a model's tokens cost by the configured prices."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal, InvalidOperation
from enum import StrEnum

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.answering_model import vendors_name
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import Usd

_GRAIN = Decimal("1E-12")
_LIMIT = Decimal("1E+12")
_SHOWN = Decimal("0.0001")
_CENT = Decimal("0.01")


def is_exact_usd(amount: Usd) -> bool:
    """Whether sums of such amounts cannot be rounded: finite, 0 to 10**12, a multiple of 10**-12."""
    return amount.is_finite() and 0 <= amount < _LIMIT and amount == amount.quantize(_GRAIN)


def round_up(amount: Usd) -> Usd:
    """The next multiple of 10**-12, so that no rounding ever favours the budget."""
    return amount.quantize(_GRAIN, rounding=ROUND_CEILING).normalize()


def to_cents(amount: Usd) -> Usd:
    """The next whole cent: what a person sets a cap to."""
    return amount.quantize(_CENT, rounding=ROUND_CEILING)


def show_usd(amount: Usd, rounding: str = ROUND_HALF_EVEN) -> str:
    """The amount for a person: ``$0.0123``, with two to four decimals; less than can be shown is ``under $0.0001``.

    Args:
        amount: exact.
        rounding: of ``decimal``: ``ROUND_CEILING`` for what is too much and ``ROUND_FLOOR`` for what is left, so that
            neither reads as if it fitted.
    """
    rounded = amount.quantize(_SHOWN, rounding=rounding)
    if amount > 0 and not rounded:
        return f"under ${_SHOWN}"
    digits = f"{rounded.normalize():f}"
    whole, _, fraction = digits.partition(".")
    return f"${whole}.{fraction.ljust(2, '0')}"


_RELEASE = re.compile(r"(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest)$")
_PLATFORM = re.compile(r"^(?:[a-z]{2,6}\.)?(?:anthropic|openai)\.")
_PLATFORM_VERSION = re.compile(r"-v\d+$")
_DECIMAL_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_GPT = re.compile(r"(?:gpt|chatgpt|o\d)(?![a-z])")


def base_model(name: str) -> str:
    """The name of a model without a provider's prefix, a release date or an alias, in lower case.

    ``anthropic/claude-opus-5-5-20260901``, ``us.anthropic.claude-opus-5-5-v1:0``, ``Claude-Opus-5.5`` and
    ``claude-opus-5-5`` are one model, and so is ``claude-5.5-opus``.
    """
    if spelled := vendors_name(name):
        return spelled
    plain = name.strip().lower().rsplit("/", 1)[-1].removeprefix("ft:").split(":")[0].split("@")[0]
    hosted = _PLATFORM.sub("", plain)
    if hosted != plain:
        hosted = _PLATFORM_VERSION.sub("", hosted)
    return _DECIMAL_POINT.sub("-", _RELEASE.sub("", hosted))


def model_family(name: str) -> str:
    """Whom a model descends from: ``claude``, ``gpt``, ``gemini``, or the first word of its name.

    Judges prefer what models of their own family write.
    """
    base = base_model(name)
    if _GPT.match(base):
        return "gpt"
    return re.split(r"[^a-z]", base, maxsplit=1)[0] or base


_MILLION = Decimal(1_000_000)
_LONG_CACHE_WRITE = 2
_NOT_TEXT = frozenset({
    "audio", "computer", "dall", "image", "images", "imagen", "live", "realtime", "research", "search", "sonar", "sora",
    "speech", "transcribe", "transcription", "translate", "tts", "veo", "video", "voice", "whisper",
})  # fmt: skip


class BuiltInTool(StrEnum):
    """A tool that the provider runs, and that can be given a price: its calls can be limited and are listed in answers.

    Source: https://platform.openai.com/docs/guides/tools, and ``max_tool_calls`` in the reference of Responses.
    """

    WEB_SEARCH = "web_search"
    WEB_SEARCH_PREVIEW = "web_search_preview"
    FILE_SEARCH = "file_search"
    CODE_INTERPRETER = "code_interpreter"


_OF_TOOLS = ("tool_call_usd", "context_tokens")


@dataclass(frozen=True, slots=True)
class ModelRates:
    """Prices of one model in US dollars per million tokens.

    Args:
        cache_read_per_million: as dear as input when it was not given.
        cache_write_per_million: twice the input when it was not given, the dearest that providers ask.
        per_call_usd: for each call beside its tokens; None when it was not given.
        tool_call_usd: the most that one call of a tool costs that the provider runs, by the tool's name.
        context_tokens: the most that the model reads at once; None where the price list knows it.
    """

    input_per_million: Usd
    output_per_million: Usd
    cache_read_per_million: Usd
    cache_write_per_million: Usd
    per_call_usd: Usd | None = None
    tool_call_usd: Mapping[str, Usd] = field(default_factory=dict)
    context_tokens: int | None = None

    def price(self, usage: Usage) -> Usd:
        """What a call with this usage costs."""
        return round_up(
            (
                usage.input_tokens * self.input_per_million
                + usage.output_tokens * self.output_per_million
                + usage.cache_read_tokens * self.cache_read_per_million
                + usage.cache_write_tokens * self.cache_write_per_million
            )
            / _MILLION
            + (self.per_call_usd or 0)
        )

    def upper_bound(self, input_tokens: int, output_tokens: int) -> Usd:
        """The most that a call with at most so many tokens can cost."""
        dearest = max(self.input_per_million, self.cache_read_per_million, self.cache_write_per_million)
        if self.cache_write_per_million > self.input_per_million:
            # A price of its own for what is written to a cache is that of five minutes; an hour's is dearer.
            dearest = max(dearest, self.input_per_million * _LONG_CACHE_WRITE)
        tokens = (input_tokens * dearest + output_tokens * self.output_per_million) / _MILLION
        return round_up(tokens + (self.per_call_usd or 0))


FREE = ModelRates(Decimal(0), Decimal(0), Decimal(0), Decimal(0), Decimal(0))
"""Of a model that its user hosts, declared as ``free: true``."""


def bills_more_than_tokens(model: str) -> bool:
    """Whether a model's name is of a family that is billed for searches, sound, images or steps beside its text."""
    return not _NOT_TEXT.isdisjoint(re.split(r"[^a-z]+", base_model(model)))


def parse_model_rates(configured: Mapping[str, object]) -> dict[str, ModelRates]:
    """The prices of a configuration's ``prices`` block, by model.

    Args:
        configured: ``{model: {"input_per_million": …, "output_per_million": …}}``, optionally with
            ``cache_read_per_million``, ``cache_write_per_million``, ``per_call_usd``, ``tool_call_usd`` (a mapping by
            ``BuiltInTool``) and ``context_tokens``;
            or ``{model: {"free": True}}``.

    Raises:
        ConfigurationError: unknown or missing keys, or a price that is not above 0; all of them at once.
    """
    problems: list[str] = []
    rates = {model: _rates(block, f"prices.{model}", problems) for model, block in configured.items()}
    if problems:
        raise ConfigurationError(
            "\n".join(problems),
            "Give US dollars per million tokens, above 0: {input_per_million: 3, output_per_million: 15}.",
        )
    return {model: rate for model, rate in rates.items() if rate is not None}


def _rates(block: object, path: str, problems: list[str]) -> ModelRates | None:
    if not isinstance(block, Mapping):
        problems.append(f"{path}: {block!r} is not a mapping.")
        return None
    if block == {"free": True}:
        return FREE
    allowed = tuple(ModelRates.__dataclass_fields__)
    problems.extend(f"{path}.{key}: unknown; allowed are {', '.join(allowed)}." for key in block if key not in allowed)
    problems.extend(f"{path}.{key}: missing." for key in allowed[:2] if key not in block)
    given = {
        key: _rate(block[key], f"{path}.{key}", problems, free=key == "per_call_usd")
        for key in allowed
        if key in block and key not in _OF_TOOLS
    }
    tools, context = block.get("tool_call_usd", {}), block.get("context_tokens")
    if not isinstance(tools, Mapping):
        problems.append(f"{path}.tool_call_usd: {tools!r} is not a mapping.")
        tools = {}
    known = [str(tool) for tool in BuiltInTool]
    problems.extend(
        f"{path}.tool_call_usd.{tool}: unknown; allowed are {', '.join(known)}." for tool in tools if tool not in known
    )
    if context is not None and (not isinstance(context, int) or isinstance(context, bool) or context < 1):
        problems.append(f"{path}.context_tokens: {context!r} is not a whole number of at least 1.")
    if "input_per_million" not in given or "output_per_million" not in given:
        return None
    input_rate = given["input_per_million"]
    return ModelRates(
        input_per_million=input_rate,
        output_per_million=given["output_per_million"],
        cache_read_per_million=given.get("cache_read_per_million", input_rate),
        cache_write_per_million=given.get("cache_write_per_million", input_rate * _LONG_CACHE_WRITE),
        per_call_usd=given.get("per_call_usd"),
        tool_call_usd={
            str(tool): _rate(price, f"{path}.tool_call_usd.{tool}", problems, free=True)
            for tool, price in tools.items()
        },
        context_tokens=context,
    )


def _rate(value: object, path: str, problems: list[str], *, free: bool) -> Usd:
    try:
        rate = Decimal("NaN") if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        rate = Decimal("NaN")
    if not rate.is_finite() or not 0 <= rate <= _MILLION or not (rate or free):
        minimum = "of at least 0" if free else "above 0"
        problems.append(f"{path}: {value!r} is not a price {minimum} and at most 1000000.")
    return rate
