"""The most tokens that a request can be billed for, and the request with a limit to its output.

What is allowed is listed, not what is forbidden: a parameter, a tool or a kind of content that a provider adds later
may be billed in a way that nobody here knows. Such a request is refused before anything is spent.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.gemini_wire import GENERATE_CONTENT
from ratiba_action.llm.providers.gemini_bounds import gemini_contents
from ratiba_action.model.model_request import PaidRequest
from ratiba_action.model.values import JsonObject
from ratiba_action.util.text import stream_safe

_SHARED = frozenset({"model", "stream", "temperature", "top_p", "tools", "tool_choice", "metadata", "service_tier"})
_OPENAI = _SHARED | {
    "parallel_tool_calls", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier",
    "store", "stream_options", "top_logprobs", "user",
}  # fmt: skip
_FIELDS: Mapping[str, frozenset[str]] = {
    "messages": _SHARED
    | {
        "cache_control", "inference_geo", "max_tokens", "messages", "output_config",
        "output_format", "speed", "stop_sequences", "system", "thinking", "top_k",
    },
    "chat/completions": _OPENAI
    | {
        "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
        "max_tokens", "messages", "modalities", "n", "presence_penalty", "reasoning_effort", "response_format", "seed",
        "stop", "verbosity",
    },
    "responses": _OPENAI
    | {
        "background", "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "reasoning", "text",
        "truncation",
    },
    "embeddings": frozenset({"model", "input", "dimensions", "encoding_format", "user"}),
}  # fmt: skip
_VALUES: Mapping[str, tuple[Any, ...]] = {
    "background": (False,),
    "inference_geo": ("global",),
    "modalities": (["text"],),
    "speed": ("standard",),
}
"""Fields of which only some values are billed at the list price, or below it."""

_TIERS: Mapping[str, Mapping[Any, str]] = {
    "messages": {None: "standard_only", "auto": "standard_only", "standard_only": "standard_only"},
    "chat/completions": {None: "default", "auto": "default", "default": "default", "flex": "flex"},
    "responses": {None: "default", "auto": "default", "default": "default", "flex": "flex"},
}
"""What each tier that may be asked for is sent as: ``auto``, or none, is whatever the account is set to."""

_TOOLS: Mapping[str, re.Pattern[str]] = {
    "messages": re.compile(r"custom|(bash|memory|text_editor)_\d{8}"),
    "chat/completions": re.compile(r"custom|function"),
    "responses": re.compile(r"custom|function"),
}
"""Types of tools that the system runs itself, by endpoint."""

_CHOICES = frozenset({"auto", "any", "tool", "none", "function", "custom", "allowed_tools"})
_BLOCKS = frozenset({
    "text", "tool_use", "tool_result", "thinking", "redacted_thinking", "search_result",
    "refusal", "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "reasoning", "input_text", "output_text", "summary_text", "reasoning_text",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Contents:
    """What a request holds that its bytes do not tell the tokens of.

    Args:
        images: how many, each within the request itself.
        hidden_thoughts: how many reasonings the provider is to look up at its own place.
        problems: what cannot be bounded, in words.
    """

    images: int
    hidden_thoughts: int
    problems: tuple[str, ...]


def contents(endpoint: str, body: JsonObject) -> Contents:
    """Look through a request.

    Args:
        endpoint: as ``PaidRequest`` names it.
        body: the request.
    """
    if endpoint == GENERATE_CONTENT:
        pictures, unbounded = gemini_contents(body)
        return Contents(pictures, 0, unbounded)
    problems = [*_wrong_fields(endpoint, body), *_wrong_tools(endpoint, body)]
    images = thoughts = 0
    for block in _blocks(body):
        kind = block.get("type")
        if _is_image(block):
            images += 1
        elif kind == "reasoning" and not block.get("encrypted_content"):
            thoughts += 1
        elif not _is_bounded(block):
            problems.append(f"content of type {str(kind)[:60]!r}{_why(block)}")
    return Contents(images, thoughts, tuple(dict.fromkeys(problems)))


def _wrong_fields(endpoint: str, body: JsonObject) -> Iterator[str]:
    for name, value in body.items():
        if value is None or value == []:
            continue
        allowed = tuple(_TIERS.get(endpoint, ())) if name == "service_tier" else _VALUES.get(name)
        if name not in _FIELDS[endpoint]:
            yield f"the field {str(name)[:60]!r}"
        elif allowed is not None and value not in allowed:
            yield f"{name} {str(value)[:60]!r}"


def pinned_tier(endpoint: str, body: JsonObject) -> JsonObject:
    """The field that keeps a provider from serving a request at a dearer tariff, whatever its account is set to.

    Args:
        endpoint: as ``PaidRequest`` names it.
        body: a request without ``problems``.
    """
    tiers = _TIERS.get(endpoint)
    return {} if tiers is None else {"service_tier": tiers[body.get("service_tier") or None]}


def _wrong_tools(endpoint: str, body: JsonObject) -> Iterator[str]:
    for name in ("tools", "functions"):
        if not isinstance(body.get(name, []), list | None):
            yield f"{name} that are not a list"
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        # Only Anthropic takes a tool without a type, for one that the system runs.
        absent = "custom" if endpoint == "messages" else None
        kind = tool.get("type", absent) if isinstance(tool, Mapping) else tool
        if endpoint not in _TOOLS or not isinstance(kind, str) or not _TOOLS[endpoint].fullmatch(kind):
            yield f"the tool {str(kind)[:60]!r}, which the provider runs or bills itself"
    choice = body.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") not in _CHOICES:
        yield f"tool_choice {str(choice.get('type'))[:60]!r}"


def _blocks(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every message, item and block of content, however deep, in what a model is given to read."""
    pending = [value[name] for name in ("messages", "input", "system", "instructions") if value.get(name) is not None]
    while pending:
        found = pending.pop()
        if isinstance(found, list):
            pending.extend(found)
        elif isinstance(found, Mapping):
            yield found
            pending.extend(found[name] for name in ("content", "output", "summary") if _holds_blocks(found.get(name)))
            source = found.get("source")
            if isinstance(source, Mapping) and isinstance(source.get("content"), list):
                pending.append(source["content"])


def _holds_blocks(value: Any) -> bool:
    return isinstance(value, list | Mapping)


def _is_bounded(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    if block.get("audio"):  # an answer in sound refers to what the provider has stored
        return False
    if kind is None:
        return "role" in block
    if kind == "document":
        source = block.get("source")
        return isinstance(source, Mapping) and source.get("type") in ("text", "content")
    return isinstance(kind, str) and kind in _BLOCKS


def _is_image(block: Mapping[str, Any]) -> bool:
    match block.get("type"):
        case "image":
            source = block.get("source")
            return isinstance(source, Mapping) and source.get("type") == "base64"
        case "image_url":
            image = block.get("image_url")
            return isinstance(image, Mapping) and str(image.get("url", "")).startswith("data:")
        case "input_image":
            return not block.get("file_id") and str(block.get("image_url", "")).startswith("data:")
        case _:
            return False


def _why(block: Mapping[str, Any]) -> str:
    if block.get("type") in ("image", "image_url", "input_image"):
        return " by reference: send the image itself, in Base64"
    if block.get("type") in ("document", "file", "input_file"):
        return ": the pages of a file cannot be counted beforehand"
    return ""


_LIMIT_FIELDS = {
    "messages": ("max_tokens",),
    "chat/completions": ("max_completion_tokens", "max_tokens"),
    "responses": ("max_output_tokens",),
    "embeddings": (),
    GENERATE_CONTENT: ("maxOutputTokens",),
}
"""What the output limit is called; the first name is the one that is added."""

_EVERY_CALL_TOKENS = 256
_TOOLS_TOKENS = 2_048
"""Of the instructions that providers put before tools and schemas; the largest that is documented is below 900."""

_IMAGE_TOKENS = {
    "messages": 8_000, "chat/completions": 60_000, "responses": 60_000, "embeddings": 60_000, GENERATE_CONTENT: 60_000,
}  # fmt: skip
"""Of one image of any size: a few bytes of it may unfold to the largest that the provider does not scale down."""

_MOST_CHOICES = 128

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
    """

    body: JsonObject = field(repr=False)
    input_tokens: int
    output_tokens: int


def bounded(request: PaidRequest, limits: OutputLimits) -> BoundedRequest:
    """Bound a request.

    A token stands for at least one byte of text, so the bytes of the body bound its tokens.

    Raises:
        ConfigurationError: it holds what cannot be bounded, or asks for more output than the ceiling.
    """
    found = contents(request.endpoint, request.body)
    problems = list(found.problems)
    # The answer is asked for as a whole: a stream that errors would leave its usage unknown.
    body = {name: value for name, value in request.body.items() if name not in {"stream", "stream_options"}}
    output = _output_tokens(request.endpoint, body, limits.of_model(request.model), problems)
    if problems:
        raise ConfigurationError(
            f"A request of {request.model!r} in scenario {request.scenario_id!r} was not sent, because the most that "
            f"it can cost is not known: {'; '.join(problems)}.",
            "Have the system leave it out when it is evaluated, or answer from recordings.",
        )
    body |= pinned_tier(request.endpoint, body)
    return BoundedRequest(
        body=body,
        input_tokens=_text_tokens(body)
        + found.images * _IMAGE_TOKENS[request.endpoint]
        + found.hidden_thoughts * limits.thought,
        output_tokens=output,
    )


def _output_tokens(endpoint: str, body: dict[str, Any], limits: OutputLimits, problems: list[str]) -> int:
    """The output that is asked for; a limit is added to the body where it has none."""
    names = _LIMIT_FIELDS[endpoint]
    if not names:
        return 0
    holder, several = body, "n"
    if endpoint == GENERATE_CONTENT:
        given = body.get("generationConfig")
        holder, several = dict(given) if isinstance(given, Mapping) else {}, "candidateCount"
        body["generationConfig"] = holder
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
    if not _is_count(choices, _MOST_CHOICES):
        problems.append(f"{several} is not a whole number from 1 to {_MOST_CHOICES}")
        return 0
    return max(requested) * int(choices or 1)


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _text_tokens(body: JsonObject) -> int:
    text = json.dumps(body, ensure_ascii=False)
    size = len(text.encode("utf-8", "surrogatepass"))
    if not text.isascii():
        # Tokenizers may normalise first, which can make one character of three bytes eighteen.
        size = max(size, len(unicodedata.normalize("NFKC", stream_safe(text)).encode("utf-8", "surrogatepass")))
    instructed = any(body.get(name) for name in ("tools", "functions", "response_format", "output_config", "text"))
    instructed = instructed or bool(body.get("output_format") or body.get("generationConfig"))
    return size + _EVERY_CALL_TOKENS + (_TOOLS_TOKENS if instructed else 0)
