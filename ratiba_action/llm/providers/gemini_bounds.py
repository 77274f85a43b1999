"""What a request in Gemini's format holds that its bytes do not tell the cost of: what is allowed is listed."""

from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.model.values import JsonObject

_FIELDS = frozenset({
    "model", "stream", "contents", "systemInstruction", "generationConfig", "tools", "toolConfig", "safetySettings",
    "labels", "serviceTier",
})  # fmt: skip
_GENERATION = frozenset({
    "candidateCount", "enableEnhancedCivicAnswers", "frequencyPenalty", "logprobs", "maxOutputTokens",
    "mediaResolution", "presencePenalty", "responseJsonSchema", "responseLogprobs", "responseMimeType",
    "responseModalities", "responseSchema", "seed", "stopSequences", "temperature", "thinkingConfig", "topK", "topP",
})  # fmt: skip
_TIERS = ("standard", "flex", "unspecified")
_PART = frozenset({
    "text", "thought", "thoughtSignature", "functionCall", "functionResponse", "inlineData", "mediaResolution",
})  # fmt: skip
_TOOL = "functionDeclarations"
_SHOWN = 60


def gemini_contents(body: JsonObject) -> tuple[int, tuple[str, ...]]:
    """Number of images in a request, and what cannot be bounded, in words.

    Args:
        body: the request, each field in camel case.
    """
    problems = [*_wrong_fields(body), *_wrong_tools(body)]
    images = 0
    for part in _parts(body):
        if _is_image(part):
            images += 1
        problems += _wrong_part(part)
    return images, tuple(dict.fromkeys(problems))


def _wrong_fields(body: JsonObject) -> Iterator[str]:
    yield from (f"the field {str(name)[:_SHOWN]!r}" for name in _given(body) if name not in _FIELDS)
    tier = body.get("serviceTier")
    if tier is not None and str(tier).lower() not in _TIERS:
        yield f"serviceTier {str(tier)[:_SHOWN]!r}"
    generation = body.get("generationConfig")
    if generation is not None and not isinstance(generation, Mapping):
        yield "a generationConfig that is not an object"
        return
    names = _given(generation or {})
    yield from (f"the field 'generationConfig.{str(name)[:_SHOWN]}'" for name in names if name not in _GENERATION)
    modalities = (generation or {}).get("responseModalities")
    if modalities not in (None, [], ["TEXT"]):
        yield f"responseModalities {str(modalities)[:_SHOWN]!r}"
    choice = body.get("toolConfig")
    if choice is not None and (not isinstance(choice, Mapping) or {*_given(choice)} - {"functionCallingConfig"}):
        yield f"toolConfig {str(choice)[:_SHOWN]!r}"


def _wrong_tools(body: JsonObject) -> Iterator[str]:
    tools = body.get("tools")
    if not isinstance(tools, list | None):
        yield "tools that are not a list"
        return
    for tool in tools or []:
        names = [*_given(tool)] if isinstance(tool, Mapping) else [tool]
        yield from (
            f"the tool {str(name)[:_SHOWN]!r}, which the provider runs or bills itself"
            for name in names
            if name != _TOOL
        )


def _given(fields: Mapping[str, Any]) -> Iterator[str]:
    """Fields with a value; a client may send the empty ones too. An object without fields turns a tool on."""
    return (name for name, value in fields.items() if value is not None and value != [])


def _parts(body: JsonObject) -> Iterator[Mapping[str, Any]]:
    """Every part, those inside the results of functions too."""
    instruction = body.get("systemInstruction")
    pending = [*(body.get("contents") or []), *([instruction] if instruction is not None else [])]
    while pending:
        content = pending.pop()
        for part in content.get("parts") or []:
            yield part
            result = part.get("functionResponse")
            inner = result.get("parts") if isinstance(result, Mapping) else None
            if isinstance(inner, list) and all(isinstance(each, Mapping) for each in inner):
                pending.append({"parts": inner})
            elif inner:
                yield {"functionResponse.parts that are no list of objects": inner}


def _is_image(part: Mapping[str, Any]) -> bool:
    data = part.get("inlineData")
    return isinstance(data, Mapping) and str(data.get("mimeType", "")).lower().startswith("image/")


def _wrong_part(part: Mapping[str, Any]) -> Iterator[str]:
    for name in _given(part):
        if name not in _PART:
            why = ": send the image itself, in Base64" if name == "fileData" else ""
            yield f"content of type {name[:_SHOWN]!r}{why}"
        elif name == "inlineData" and not _is_image(part):
            data = part["inlineData"]
            kind = data.get("mimeType") if isinstance(data, Mapping) else data
            yield f"content of type {str(kind)[:_SHOWN]!r}: its tokens cannot be counted beforehand"
