"""What a provider's answer says that it took: tokens, a cost of its own, and what none of that explains.

Each provider reports its usage in a shape of its own, and a shape that is read wrongly books too little. So a total
that is more than its parts is output, a count that nobody here knows is not worth nothing but unknown, and an answer
that leaves out a count cannot be used. The shapes stand in ``tests/money/test_usage_shapes.py``, each with its source;
who reads one is the wire format that has it (``ratiba_action/llm/providers``).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.money.pricing import is_exact_usd, round_up

_MAX_TOKENS = 1_000_000_000
"""Far above any model's context; beyond it a count is a mistake, and its price would not be exact."""


class UsageShape(Protocol):
    """How the answers of one endpoint report what they took."""

    @property
    def usage_field(self) -> str:
        """Name of the block in the answer."""
        ...

    def tokens(self, usage: Mapping[str, Any]) -> Usage:
        """The tokens of a block.

        Raises:
            ValueError: a count is missing, or is none.
        """
        ...

    def long_cache_writes(self, usage: Mapping[str, Any]) -> int:
        """Of the tokens written to a cache, those for an hour."""
        ...

    def fees(self, answer: JsonObject, usage: Mapping[str, Any]) -> Iterator[str]:
        """What an answer was billed for besides its tokens, in words."""
        ...


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """What an answer reports.

    Args:
        usage: its tokens; the input leaves out the cached ones, whatever the provider's habit.
        long_cache_writes: of the tokens written to a cache, those for an hour, which cost more than for five minutes.
        usd: what the provider itself says that the call cost; None where it does not.
        unexplained: what else the call was billed for, in words; empty where tokens or ``usd`` explain it.
    """

    usage: Usage
    long_cache_writes: int = 0
    usd: Usd | None = None
    unexplained: tuple[str, ...] = ()


def reported_usage(shape: UsageShape, answer: JsonObject) -> Usage:
    """The tokens of an answer; see ``answer_usage``."""
    return _tokens(shape, _block(shape, answer))


def answer_usage(shape: UsageShape, answer: JsonObject) -> AnswerUsage:
    """What an answer reports.

    Args:
        shape: of the endpoint that gave it.
        answer: the whole body.

    Raises:
        ValueError: it reports no usage, leaves a count out, a count is not a whole number from 0 to 1000000000, or
            there is no input at all.
    """
    block = _block(shape, answer)
    tokens, usd = _tokens(shape, block), _reported_cost(block)
    problems = dict.fromkeys(shape.fees(answer, block))
    return AnswerUsage(tokens, shape.long_cache_writes(block), usd, () if usd else (*problems,))


def _block(shape: UsageShape, answer: JsonObject) -> Mapping[str, Any]:
    usage = answer.get(shape.usage_field)
    if not isinstance(usage, Mapping):
        raise ValueError("it reports no usage")  # noqa: TRY004 - the answer, not an argument, is at fault
    return usage


def _tokens(shape: UsageShape, usage: Mapping[str, Any]) -> Usage:
    tokens = shape.tokens(usage)
    if tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens == 0:
        raise ValueError("its usage has no input tokens")
    return tokens


READ_FROM_CACHE = ("prompt_cache_hit_tokens", "cache_read_input_tokens", "num_cached_tokens", "cached_tokens")
WRITTEN_TO_CACHE = ("cache_creation_input_tokens",)
"""What those who speak OpenAI's format call what was cached."""


def required_count(usage: Mapping[str, Any], name: str) -> int:
    """A count that must be there; see ``count``."""
    if usage.get(name) is None:
        raise ValueError(f"its usage has no {name}")
    return count(usage, name)


def count_within(usage: Mapping[str, Any], group: str, name: str) -> int:
    """A count in a group of the block; 0 where there is no such group. See ``count``."""
    details = usage.get(group)
    return count(details, name) if isinstance(details, Mapping) else 0


def count(usage: Mapping[str, Any], name: str) -> int:
    """A count; 0 where it is left out.

    Raises:
        ValueError: it is not a whole number from 0 to 1000000000.
    """
    value = usage.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_TOKENS:
        raise ValueError(f"usage.{name} is {repr(value)[:40]}, not a count of tokens")
    return value


_TICKS = Decimal(10) ** 10
"""Of xAI in a dollar."""


def _reported_cost(usage: Mapping[str, Any]) -> Usd | None:
    """What the provider says that the call cost: OpenRouter, xAI, DeepInfra and Perplexity do.

    OpenRouter's ``cost`` is its fee alone where its user brings a key: then whoever serves the model bills the rest.
    """
    cost = usage.get("cost")
    reported = _usd(cost.get("total_cost") if isinstance(cost, Mapping) else cost)
    details = usage.get("cost_details")
    if usage.get("is_byok") is True:
        upstream = _usd(details.get("upstream_inference_cost")) if isinstance(details, Mapping) else None
        reported = None if upstream is None else upstream + (reported or 0)
    ticks, estimated = _usd(usage.get("cost_in_usd_ticks")), _usd(usage.get("estimated_cost"))
    found = [reported, estimated, None if ticks is None else ticks / _TICKS]
    amounts = [round_up(amount) for amount in found if amount is not None]
    return max(amounts, default=None)


def _usd(value: Any) -> Decimal | None:
    """An amount of money that somebody else has written; None where it is none."""
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount < _MAX_TOKENS * 100 and is_exact_usd(round_up(amount)) else None


_LIST_PRICE_TIERS = frozenset({
    "", "auto", "batch", "default", "flex", "on_demand", "service_tier_unspecified", "standard", "standard_only",
    "unspecified",
})  # fmt: skip
"""Tiers that cost what the list says, or less. ``on_demand`` is Groq's own."""
_OWN_CALLS = ("function_call", "custom_tool_call")
_LIST_PRICE_PLACES = (None, "", "global", "not_available")
_STEPS = (None, "message", "compaction")
RAN_TOOLS = "the provider ran tools of its own, which are billed apart"
HOLDS_SOUND = "it holds sound or video, whose tokens cost more than those of text"
HOLDS_PICTURE = "it holds an image, whose tokens cost more than those of text"


def fees_of_text(answer: JsonObject, usage: Mapping[str, Any]) -> Iterator[str]:
    """What an answer in Anthropic's or OpenAI's format was billed for besides its tokens, in words."""
    yield from dear_tiers(answer.get("service_tier"), usage.get("service_tier"))
    if usage.get("inference_geo") not in _LIST_PRICE_PLACES:
        yield f"it was made in {str(usage['inference_geo'])[:40]!r}, which costs more than the list price"
    if usage.get("speed") not in (None, "standard"):
        yield f"it was served at the speed {str(usage['speed'])[:40]!r}, whose prices are not known"
    steps = [step for step in objects(usage.get("iterations")) if step.get("type") not in _STEPS]
    if steps or answer.get("usage_breakdown") or any(map(_ran_by_provider, _items(answer))) or _has_cited(answer):
        yield RAN_TOOLS
    yield from _unknown_counts(usage)


def dear_tiers(*tiers: Any) -> Iterator[str]:
    """The tiers that may cost more than the list price, in words."""
    for tier in tiers:
        if tier is not None and str(tier).lower() not in _LIST_PRICE_TIERS:
            yield f"it was served by the tier {str(tier)[:40]!r}, whose prices are not known"


_COUNTED = re.compile(
    r"(tokens?|counts?|calls|requests|queries|searches|sources_used|tools_used|seconds|minutes|images|pages|documents"
    r"|characters|units|executed)$"
)
_EXPLAINED = frozenset({
    *READ_FROM_CACHE, *WRITTEN_TO_CACHE, "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens",
    "total_tokens",
    "prompt_cache_miss_tokens", "cache_write_tokens", "cache_creation_tokens", "reasoning_tokens", "thinking_tokens",
    "text_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens", "ephemeral_5m_input_tokens",
    "ephemeral_1h_input_tokens",
})  # fmt: skip
"""Counts that are part of others, or are read above."""
_OF_TOOLS = re.compile(r"tool|search|sources|queries|executed|citation")


def _unknown_counts(usage: Mapping[str, Any], group: str = "") -> Iterator[str]:
    """What was counted that tokens of text do not explain: tools, searches, sound, images, and what nobody knows."""
    for name, value in usage.items():
        path = f"{group}.{name}" if group else str(name)
        if isinstance(value, Mapping) and name not in ("cost", "cost_details"):
            yield from _unknown_counts(value, path)
        elif isinstance(value, list) and name != "iterations":  # whose counts the usage has as its sums
            for part in objects(value):
                yield from _unknown_counts(part, path)
        elif isinstance(value, int | float) and value and _COUNTED.search(str(name)) and name not in _EXPLAINED:
            yield from _unknown_count(path, group)


def _unknown_count(path: str, group: str) -> Iterator[str]:
    if re.search(r"audio|video", path):
        yield HOLDS_SOUND
    elif path.endswith("image_tokens"):
        if group.startswith(("completion", "output")):  # pictures that are read cost what text does
            yield HOLDS_PICTURE
    elif _OF_TOOLS.search(path):
        yield RAN_TOOLS
    else:
        yield f"its usage counts {path[:60]!r}, which is not known"


def _items(answer: JsonObject) -> list[Any]:
    """What an answer consists of, in Anthropic's and in OpenAI's words."""
    return [item for name in ("content", "output") if isinstance(items := answer.get(name), list) for item in items]


def _ran_by_provider(item: Any) -> bool:
    kind = str(item.get("type")) if isinstance(item, Mapping) else ""
    return kind == "server_tool_use" or (kind.endswith("_call") and kind not in _OWN_CALLS)


def _has_cited(answer: JsonObject) -> bool:
    """Whether a chat completion quotes the web, which somebody searched for it."""
    messages = [choice.get("message") for choice in objects(answer.get("choices"))]
    notes = [
        note for message in messages if isinstance(message, Mapping) for note in objects(message.get("annotations"))
    ]
    return any(note.get("type") == "url_citation" for note in notes)


def objects(items: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; empty where it is none."""
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
