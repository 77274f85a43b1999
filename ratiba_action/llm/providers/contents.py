"""What a request in Anthropic's or OpenAI's words holds that its bytes do not tell the cost of.

What is allowed is listed, not what is forbidden: see ``ratiba_action/llm/providers/bounds.py``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.model.values import JsonObject

SHARED_FIELDS = frozenset({
    "model", "stream", "temperature", "top_p", "tools", "tool_choice", "metadata", "service_tier",
})  # fmt: skip
"""Of every endpoint that answers in words."""
_VALUES: Mapping[str, tuple[Any, ...]] = {
    "background": (False,),
    "inference_geo": ("global",),
    "modalities": (["text"],),
    "speed": ("standard",),
}
"""Fields of which only some values are billed at the list price, or below it."""
_CHOICES = frozenset({"auto", "any", "tool", "none", "function", "custom", "allowed_tools"})
_BLOCKS = frozenset({
    "text", "tool_use", "tool_result", "thinking", "redacted_thinking", "search_result",
    "refusal", "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "reasoning", "input_text", "output_text", "summary_text", "reasoning_text",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class RequestContents:
    """What a request holds that its bytes do not tell the tokens of.

    Args:
        images: how many, each within the request itself.
        hidden_thoughts: how many reasonings the provider is to look up at its own place.
        problems: what cannot be bounded, in words.
    """

    images: int
    hidden_thoughts: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a request of one endpoint may hold.

    Args:
        tools: types of tools that the system runs itself; None: there are no tools.
        untyped_tool: type of a tool that names none; None: each names one.
        tiers: what each tier that may be asked for is sent as: ``auto``, or none, is whatever the account is set to.
    """

    fields: frozenset[str]
    tools: re.Pattern[str] | None = None
    untyped_tool: str | None = None
    tiers: Mapping[Any, str] = field(default_factory=dict)

    def contents(self, body: JsonObject) -> RequestContents:
        """See ``Endpoint.contents``."""
        problems = [*self._wrong_fields(body), *self._wrong_tools(body)]
        images = thoughts = 0
        for block in _blocks(body):
            kind = block.get("type")
            if _is_image(block):
                images += 1
            elif kind == "reasoning" and not block.get("encrypted_content"):
                thoughts += 1
            elif not _is_bounded(block):
                problems.append(f"content of type {str(kind)[:60]!r}{_why(block)}")
        return RequestContents(images, thoughts, tuple(dict.fromkeys(problems)))

    def pinned_tier(self, body: JsonObject) -> JsonObject:
        """See ``Endpoint.pinned_tier``."""
        return {"service_tier": self.tiers[body.get("service_tier") or None]} if self.tiers else {}

    def _wrong_fields(self, body: JsonObject) -> Iterator[str]:
        for name, value in body.items():
            if value is None or value == []:
                continue
            allowed = tuple(self.tiers) if name == "service_tier" else _VALUES.get(name)
            if name not in self.fields:
                yield f"the field {str(name)[:60]!r}"
            elif allowed is not None and value not in allowed:
                yield f"{name} {str(value)[:60]!r}"

    def _wrong_tools(self, body: JsonObject) -> Iterator[str]:
        for name in ("tools", "functions"):
            if not isinstance(body.get(name, []), list | None):
                yield f"{name} that are not a list"
        tools = body.get("tools")
        for tool in tools if isinstance(tools, list) else []:
            kind = tool.get("type", self.untyped_tool) if isinstance(tool, Mapping) else tool
            if self.tools is None or not isinstance(kind, str) or not self.tools.fullmatch(kind):
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
