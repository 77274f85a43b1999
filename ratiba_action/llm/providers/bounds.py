"""The most tokens that a request can be billed for, and the request with a limit to its output.

What is allowed is listed, not what is forbidden: a parameter, a tool or a kind of content that a provider adds later
may be billed in a way that nobody here knows. Such a request is refused before anything is spent.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.wire_format import BuiltInUse, Endpoint
from ratiba_action.model.model_request import PaidRequest, ToolPrices
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.util.text import stream_safe

_EVERY_CALL_TOKENS = 256
_TOOLS_TOKENS = 2_048
"""Of the instructions that providers put before tools and schemas; the largest that is documented is below 900."""

_MAX_CHOICES = 128
_MAX_TOOL_CALLS = 128

_THOUGHT_TOKENS = 64_000


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """Tokens of output that a call may ask for.

    Args:
        default: given to a request that has no limit.
        ceiling: a request that asks for more is refused: a lowered limit would measure something else.
        of: models with limits of their own, by name.
    """

    default: int = 8_192
    ceiling: int = 64_000
    of: Mapping[str, "OutputLimits"] = field(default_factory=dict)

    def of_model(self, model: str) -> "OutputLimits":
        """The limits that hold for one model."""
        return self.of.get(model, self)

    @property
    def thought(self) -> int:
        """The most tokens of a reasoning that an earlier answer, of whatever model and run, may have left."""
        return max(_THOUGHT_TOKENS, self.ceiling, *(own.ceiling for own in self.of.values()))


@dataclass(frozen=True, slots=True)
class BoundedRequest:
    """A request that can be priced.

    Args:
        body: what is sent: never a stream, always with an output limit and a tier.
        input_tokens: the most that it can be billed for as input, cached or not.
        output_tokens: the most as output, reasoning and every choice included.
        tools_usd: the most for calls of tools that the provider runs.
    """

    body: JsonObject = field(repr=False)
    input_tokens: int
    output_tokens: int
    tools_usd: Usd


def bounded(request: PaidRequest, limits: OutputLimits, tools: ToolPrices | None = None) -> BoundedRequest:
    """Bound a request.

    A token stands for at least one byte of text, so the bytes of the body bound its tokens. After each call of a tool
    that the provider runs, the model reads all once more, with a result of unknown length: each time at most its
    context window.

    Args:
        tools: prices of the tools that the provider may run; None where it may run none.

    Raises:
        ConfigurationError: it holds what cannot be bounded, or asks for more output than the ceiling.
    """
    endpoint, tools = endpoint_named(request.endpoint), tools or ToolPrices()
    use = endpoint.built_in(request.body)
    unpriced = [tool for tool in use.tools if tool not in tools.usd]
    is_read_again = bool(tools.usd) and not unpriced and use.rest != request.body
    found = endpoint.contents(use.rest if is_read_again else request.body)
    problems = list(found.problems)
    calls = 0
    if is_read_again:
        calls = _tool_calls(request, use, tools, problems)
    # The answer is asked for as a whole: a stream that errors would leave its usage unknown.
    body = {name: value for name, value in request.body.items() if name not in {"stream", "stream_options"}}
    output = _output_tokens(endpoint, body, limits.of_model(request.model), problems)
    if problems:
        raise ConfigurationError(
            f"A request of {request.model!r} in scenario {request.scenario_id!r} was not sent, because the most that "
            f"it can cost is not known: {'; '.join(problems)}.",
            _remedy(request.model, unpriced),
        )
    body |= endpoint.pinned_tier(body)
    own = (
        _text_tokens(body, instructed=any(body.get(name) for name in endpoint.instructing))
        + found.images * endpoint.image_tokens
        + found.hidden_thoughts * limits.thought
    )
    at_once = max(own, tools.context_tokens or 0) if is_read_again else own
    return BoundedRequest(
        body=body,
        input_tokens=at_once * (calls + 1),
        output_tokens=output * (calls + 1),
        tools_usd=calls * max((tools.usd[tool] for tool in use.tools), default=Usd(0)) if calls else Usd(0),
    )


def _tool_calls(request: PaidRequest, use: BuiltInUse, tools: ToolPrices, problems: list[str]) -> int:
    """How often the provider may run a tool; 0 where the request only holds calls of earlier answers."""
    if tools.context_tokens is None:
        problems.append(
            f"the context window of {request.model!r}: give it as prices: {{{request.model}: {{context_tokens: …}}}}"
        )
    if not use.tools:
        return 0
    limit = request.body.get("max_tool_calls")
    if not _is_count(limit, _MAX_TOOL_CALLS):
        problems.append(
            f"how often {', '.join(use.tools)} may run: max_tool_calls is {limit!r}, not a whole number from 1 to "
            f"{_MAX_TOOL_CALLS}"
        )
        return 0
    return int(limit or 0)


def _remedy(model: str, unpriced: Sequence[str]) -> str:
    leave_out = "Have the system leave it out when it is evaluated, or answer from recordings."
    if not unpriced:
        return leave_out
    prices = ", ".join(f"{tool}: …" for tool in unpriced)
    return (
        f"{leave_out} To allow it, set max_tool_calls in the request, and give the most that one call of the tool "
        f"costs: prices: {{{model}: {{input_per_million: …, output_per_million: …, tool_call_usd: {{{prices}}}}}}}."
    )


def _output_tokens(endpoint: Endpoint, body: dict[str, Any], limits: OutputLimits, problems: list[str]) -> int:
    """The output that is asked for; a limit is added to the body where it has none."""
    names, several = endpoint.limits, endpoint.choices
    if not names:
        return 0
    holder = body
    if endpoint.limits_in:
        given = body.get(endpoint.limits_in)
        holder = dict(given) if isinstance(given, Mapping) else {}
        body[endpoint.limits_in] = holder
    requested: list[int] = [holder[name] for name in names if holder.get(name) is not None]
    if not requested:
        holder[names[0]] = limits.default
        requested = [limits.default]
    choices = holder.get(several) if holder.get(several) is not None else 1
    if not all(_is_count(limit, limits.ceiling) for limit in requested):
        problems.append(
            f"{names[0]} is not a whole number from 1 to {limits.ceiling}, the configuration's models.max_output_tokens"
        )
        return 0
    if not _is_count(choices, _MAX_CHOICES):
        problems.append(f"{several} is not a whole number from 1 to {_MAX_CHOICES}")
        return 0
    return max(requested) * int(choices or 1)


def _is_count(value: Any, maximum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= maximum


def _text_tokens(body: JsonObject, *, instructed: bool) -> int:
    text = json.dumps(body, ensure_ascii=False)
    size = len(text.encode("utf-8", "surrogatepass"))
    if not text.isascii():
        # Tokenizers may normalise first, which can make one character of three bytes eighteen.
        size = max(size, len(unicodedata.normalize("NFKC", stream_safe(text)).encode("utf-8", "surrogatepass")))
    return size + _EVERY_CALL_TOKENS + (_TOOLS_TOKENS if instructed else 0)
