"""The wire format of Gemini's ``generateContent`` and ``streamGenerateContent``.

The model and the kind of answer stand in the address, not in the body: the gateway puts them into the body as ``model``
and ``stream``, as every other endpoint has them, and whoever sends the request takes them out again.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ratiba_action.llm.canonical_request import last_text_of, lasting_fields, recorded_usage, without_nulls
from ratiba_action.llm.endpoint import event
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject

GENERATE_CONTENT = "generateContent"
"""Name of the endpoint."""
_MODEL = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_FREE = frozenset({
    "args", "labels", "parameters", "parametersJsonSchema", "partMetadata", "response", "responseJsonSchema",
    "responseSchema",
})  # fmt: skip
"""Fields whose values have keys of the system's own."""
_VOLATILE = ("labels", "serviceTier")
_SNAKE = re.compile(r"_([a-z0-9])")


class GeminiContents:
    """``POST /v1beta/models/{model}:generateContent`` and ``:streamGenerateContent``."""

    provider = "gemini"
    name = GENERATE_CONTENT

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, or None."""
        if not isinstance(body.get("model"), str) or not _MODEL.fullmatch(body["model"]):
            return f"{str(body.get('model'))[:60]!r} is not the name of a model."
        contents = body.get("contents")
        if not isinstance(contents, list) or not contents:
            return "contents is not specified: at least one content is required."
        given = [*contents, *([body["systemInstruction"]] if body.get("systemInstruction") is not None else [])]
        if not all(_is_content(content) for content in given):
            return "Each content is an object with a list of parts, each part an object."
        return None

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request without nulls, every content with its role; the system instruction has none."""
        request = lasting_fields(body, left_out=_VOLATILE)
        request["contents"] = [{"role": "user", **without_nulls(content)} for content in body["contents"]]
        for content in request["contents"]:
            content["parts"] = [without_nulls(part) for part in content["parts"]]
        if "systemInstruction" in request:
            parts = request["systemInstruction"].get("parts") or []
            request["systemInstruction"] = {"parts": [without_nulls(part) for part in parts]}
        if isinstance(request.get("generationConfig"), Mapping):
            request["generationConfig"] = without_nulls(request["generationConfig"])
        if isinstance(request.get("tools"), list):
            request["tools"] = [without_nulls(tool) for tool in request["tools"]]
        return request

    def system_prompt(self, body: JsonObject) -> str:
        """The texts of the system instruction, one a line."""
        return last_text_of(messages_of([{**(body.get("systemInstruction") or {}), "role": "user"}]), "user")

    def last_user_text(self, body: JsonObject) -> str:
        """The text of the user's last content that has any; results of functions have none."""
        return last_text_of(messages_of(body.get("contents") or []), "user")

    def usage(self, answer: JsonObject) -> Usage:
        """The tokens of the answer's ``usageMetadata``; thoughts count as output."""
        return recorded_usage(self.provider, self.name, answer)

    def stream(self, request: JsonObject, answer: JsonObject) -> Iterator[bytes]:  # noqa: ARG002 - of the protocol
        """One event for each part; the last of a candidate says why it ended, and the last of all has the usage."""
        yield from (event(chunk) for chunk in chunks(answer))

    def error(self, status: int, message: str) -> JsonObject:
        """``{"error": {"code", "message", "status"}}``."""
        return {"error": {"code": status, "message": message, "status": _STATUS.get(status, "UNKNOWN")}}


def received_body(body: JsonObject, model: str, *, stream: bool) -> JsonObject:
    """A request as the gateway goes on with it: the fields in one spelling, with what its address says.

    Gemini takes each field as ``maxOutputTokens`` and as ``max_output_tokens``: whoever bounds, compares and sends the
    request must see the same one.

    Args:
        body: as it arrived.
        model: in the address.
        stream: whether the address asks for a stream.

    Raises:
        ValueError: a field stands there in both spellings.
    """
    return {**_spelled(body), "model": model, "stream": stream}


def chunks(answer: JsonObject) -> Iterator[JsonObject]:
    """The answers that a stream is made of."""
    shared = {name: answer[name] for name in ("modelVersion", "responseId", "createTime") if name in answer}
    candidates: Sequence[Mapping[str, Any]] = answer.get("candidates") or []
    partial = [(candidate, part) for candidate in candidates for part in _parts_before_the_last(candidate)]
    for candidate, part in partial:
        content = {**candidate["content"], "parts": [part]}
        yield {**shared, "candidates": [{"content": content, "index": candidate.get("index", 0)}]}
    endings = [_with_last_part(candidate) for candidate in candidates]
    for ending in endings[:-1]:
        yield {**shared, "candidates": [ending]}
    yield {**answer, **({"candidates": endings[-1:]} if candidates else {})}


def messages_of(contents: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    """Contents as messages of blocks, in the words of the other providers."""
    roles = {"model": "assistant"}
    return [
        {
            "role": roles.get(str(content.get("role")), content.get("role") or "user"),
            "content": [_block(part) for part in content.get("parts") or []],
        }
        for content in contents
    ]


def _block(part: Mapping[str, Any]) -> Mapping[str, Any]:
    call, result = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, Mapping):
        return {**call, "type": "tool_use", "id": call.get("id") or call.get("name")}
    if isinstance(result, Mapping):
        identity = result.get("id") or result.get("name")
        return {"type": "tool_result", "tool_use_id": identity, "content": result.get("response")}
    return part


def _is_content(content: Any) -> bool:
    if not isinstance(content, Mapping):
        return False
    parts = content.get("parts")
    return isinstance(parts, list) and all(isinstance(part, Mapping) for part in parts)


def _spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    fields: dict[str, Any] = {}
    for given, item in value.items():
        name = _SNAKE.sub(lambda letter: letter[1].upper(), given)
        if name in fields:
            raise ValueError(f"The field {name[:60]!r} stands there in two spellings.")
        fields[name] = item if name in _FREE else _spelled(item)
    return fields


def _parts_before_the_last(candidate: Mapping[str, Any]) -> Sequence[Any]:
    parts = (candidate.get("content") or {}).get("parts") or []
    return list(parts)[:-1]


def _with_last_part(candidate: Mapping[str, Any]) -> JsonObject:
    content = candidate.get("content")
    if not content or not content.get("parts"):
        return dict(candidate)
    return {**candidate, "content": {**content, "parts": content["parts"][-1:]}}
