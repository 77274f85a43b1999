"""The tokens that a provider's whole answer reports, in our terms.

Nothing is guessed: an answer that leaves out a count, or whose counts cannot be, is not worth nothing but unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject

_MOST_TOKENS = 1_000_000_000
"""Far above any model's context; beyond it a count is a mistake, and its price would not be exact."""


@dataclass(frozen=True, slots=True)
class _OpenAINames:
    """How an endpoint calls its counts; ``output`` is None where nothing is generated."""

    asked: str
    answered: str | None

    @property
    def details(self) -> str:
        return f"{self.asked}_details"


_OPENAI = {
    "chat/completions": _OpenAINames("prompt_tokens", "completion_tokens"),
    "responses": _OpenAINames("input_tokens", "output_tokens"),
    "embeddings": _OpenAINames("prompt_tokens", None),
}


def reported_usage(provider: str, endpoint: str, answer: JsonObject) -> Usage:
    """The tokens of an answer; the input leaves out the cached ones, whatever the provider's habit.

    Args:
        provider: ``anthropic`` or ``openai``.
        endpoint: as ``PaidRequest`` names it.
        answer: the whole body.

    Raises:
        ValueError: it reports no usage, leaves a count out, a count is not a whole number from 0 to 1000000000, or
            there is no input at all.
    """
    usage = answer.get("usage")
    if not isinstance(usage, Mapping):
        raise ValueError("it reports no usage")  # noqa: TRY004 - the answer, not an argument, is at fault
    tokens = _anthropic(usage) if provider == "anthropic" else _openai(usage, _OPENAI[endpoint])
    if tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens == 0:
        raise ValueError("its usage has no input tokens")
    return tokens


def long_cache_writes(answer: JsonObject) -> int:
    """Tokens that Anthropic wrote to its cache for an hour, which costs more than for five minutes.

    Raises:
        ValueError: the count is not a whole number from 0 to 1000000000.
    """
    usage = answer.get("usage")
    return _nested(usage, "cache_creation", "ephemeral_1h_input_tokens") if isinstance(usage, Mapping) else 0


def _anthropic(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=_required(usage, "input_tokens"),
        output_tokens=_required(usage, "output_tokens"),
        cache_read_tokens=_count(usage, "cache_read_input_tokens"),
        cache_write_tokens=_count(usage, "cache_creation_input_tokens"),
    )


def _openai(usage: Mapping[str, Any], names: _OpenAINames) -> Usage:
    """OpenAI's input includes what was read from its cache and written to it."""
    cached = _nested(usage, names.details, "cached_tokens")
    written = _nested(usage, names.details, "cache_write_tokens")
    fresh = _required(usage, names.asked) - cached - written
    if fresh < 0:
        raise ValueError(f"usage.{names.asked} is less than its cached tokens")
    answered = _required(usage, names.answered) if names.answered is not None else 0
    return Usage(fresh, answered, cache_read_tokens=cached, cache_write_tokens=written)


def _required(usage: Mapping[str, Any], name: str) -> int:
    if usage.get(name) is None:
        raise ValueError(f"its usage has no {name}")
    return _count(usage, name)


def _nested(usage: Mapping[str, Any], group: str, name: str) -> int:
    details = usage.get(group)
    return _count(details, name) if isinstance(details, Mapping) else 0


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_TOKENS:
        raise ValueError(f"usage.{name} is {repr(value)[:40]}, not a count of tokens")
    return value
