"""What a request may hold so that the most it can cost is known.

What is allowed is listed, not what is forbidden: a parameter, a tool or a kind of content that a provider adds later
may be billed in a way that nobody here knows. Such a request is refused before anything is spent.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.model.values import JsonObject

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
