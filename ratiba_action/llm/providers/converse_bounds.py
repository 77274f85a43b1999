"""What a Converse request holds that its bytes do not tell the cost of: what is allowed is listed."""

from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.llm.providers.contents import RequestContents
from ratiba_action.model.values import JsonObject
from ratiba_action.money.answer_usage import objects

_FIELDS = frozenset({
    "model", "stream", "messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields",
    "additionalModelResponseFieldPaths", "outputConfig", "performanceConfig", "requestMetadata", "serviceTier",
})  # fmt: skip
_WITHIN: Mapping[str, frozenset[str]] = {
    "inferenceConfig": frozenset({"maxTokens", "temperature", "topP", "stopSequences"}),
    "additionalModelRequestFields": frozenset({"thinking", "top_k", "reasoning_effort"}),
    "toolConfig": frozenset({"tools", "toolChoice"}),
    "performanceConfig": frozenset({"latency"}),
    "serviceTier": frozenset({"type"}),
}
"""Fields whose own fields are listed: a model's own may lift the output limit or turn on what is billed apart."""
_VALUES = (("performanceConfig", "latency", ("standard",)), ("serviceTier", "type", ("default", "flex")))
"""Settings of which only some values cost the list price or less."""
_TOOLS = frozenset({"toolSpec", "cachePoint"})
_BLOCKS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "cachePoint", "json"})
_SHOWN = 60


def converse_contents(body: JsonObject) -> RequestContents:
    """See ``Endpoint.contents``."""
    problems = [*_wrong_fields(body), *_wrong_tools(body)]
    images = 0
    for block in _blocks(body):
        image = block.get("image")
        source = image.get("source") if isinstance(image, Mapping) else None
        if isinstance(source, Mapping) and set(source) == {"bytes"}:
            images += 1
            continue
        problems += _wrong_block(block)
    return RequestContents(images, 0, tuple(dict.fromkeys(problems)))


def _wrong_fields(body: JsonObject) -> Iterator[str]:
    yield from (f"the field {str(name)[:_SHOWN]!r}" for name in _given(body) if name not in _FIELDS)
    for name, allowed in _WITHIN.items():
        settings = body.get(name)
        if settings is not None and not isinstance(settings, Mapping):
            yield f"{name} that is no object"
            continue
        inner = (each for each in _given(settings or {}) if each not in allowed)
        yield from (f"the field '{name}.{str(each)[:_SHOWN]}'" for each in inner)
    for name, part, values in _VALUES:
        settings = body.get(name)
        value = settings.get(part) if isinstance(settings, Mapping) else None
        if value is not None and value not in values:
            yield f"{name}.{part} {str(value)[:_SHOWN]!r}"


def _wrong_tools(body: JsonObject) -> Iterator[str]:
    settings = body.get("toolConfig")
    tools = settings.get("tools") if isinstance(settings, Mapping) else None
    if not isinstance(tools, list | None):
        yield "tools that are not a list"
        return
    for tool in tools or []:
        for name in _given(tool) if isinstance(tool, Mapping) else [tool]:
            if name not in _TOOLS:
                yield f"the tool {str(name)[:_SHOWN]!r}, which the provider runs or bills itself"


def _given(fields: Mapping[str, Any]) -> Iterator[str]:
    return (name for name, value in fields.items() if value is not None and value != [])


def _blocks(body: JsonObject) -> Iterator[Mapping[str, Any]]:
    """Every block, those inside the results of tools too."""
    pending = [*objects(body.get("system"))]
    pending += [block for message in objects(body.get("messages")) for block in objects(message.get("content"))]
    while pending:
        block = pending.pop()
        yield block
        result = block.get("toolResult")
        pending += objects(result.get("content")) if isinstance(result, Mapping) else []


def _wrong_block(block: Mapping[str, Any]) -> Iterator[str]:
    for name in _given(block):
        value = block[name]
        if name not in _BLOCKS:
            why = " by reference: send the image itself, in Base64" if name == "image" else ""
            yield f"content of type {str(name)[:_SHOWN]!r}{why}"
        elif name in ("toolUse", "toolResult") and isinstance(value, Mapping) and value.get("type") is not None:
            yield f"the tool {str(value['type'])[:_SHOWN]!r}, which the provider runs or bills itself"
