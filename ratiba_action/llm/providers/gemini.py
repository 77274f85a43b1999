"""Gemini's wire format: ``generateContent`` and ``streamGenerateContent``.

The model and the kind of answer stand in the address, not in the body: the gateway puts them into the body as ``model``
and ``stream``, as every other endpoint has them, and whoever sends the request takes them out again.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import SplitResult, quote

from ratiba_action.llm.canonical_request import lasting_fields, without_nulls
from ratiba_action.llm.providers.contents import RequestContents
from ratiba_action.llm.providers.gemini_bounds import gemini_contents
from ratiba_action.llm.wire_format import (
    EVENT_STREAM,
    Endpoint,
    Scripted,
    ShapedQuestion,
    WireFormat,
    event,
    joined,
    last_user_text_of,
    misshapen,
    refusal,
    require_end,
)
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject
from ratiba_action.money.answer_usage import (
    HOLDS_PICTURE,
    HOLDS_SOUND,
    RAN_TOOLS,
    count,
    dear_tiers,
    objects,
    required_count,
)

_NAME = "gemini"
_GENERATE, _STREAM = "generateContent", "streamGenerateContent"
_ROUTE = f"/models/{{model:[^/:]+}}:{{method:{_GENERATE}|{_STREAM}}}"
_VERSION = re.compile(r"/v\d\w*$")
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
_TRAFFIC = (None, "TRAFFIC_TYPE_UNSPECIFIED", "ON_DEMAND", "ON_DEMAND_FLEX")
_REFUSALS = ("BLOCKLIST", "PROHIBITED_CONTENT", "RECITATION", "SAFETY", "SPII")


class GenerateContent(Endpoint):
    """``POST /v1beta/models/{model}:generateContent`` and ``:streamGenerateContent``."""

    provider = _NAME
    name = _GENERATE
    paths = (_ROUTE, f"/v1beta{_ROUTE}", f"/v1{_ROUTE}", f"/v1alpha{_ROUTE}")
    shown_path = f"/v1beta/models/MODEL:{_GENERATE}"
    usage_field = "usageMetadata"
    limits = ("maxOutputTokens",)
    limits_in = "generationConfig"
    choices = "candidateCount"
    image_tokens = 60_000
    instructing = ("tools", "generationConfig")

    def received(self, body: JsonObject, address: Mapping[str, str]) -> JsonObject:
        """The fields in one spelling, with what the address says.

        Gemini takes each field as ``maxOutputTokens`` and as ``max_output_tokens``: whoever bounds, compares and sends
        the request must see the same one.

        Raises:
            ValueError: a field stands there in both spellings.
        """
        return {**_spelled(body), "model": address["model"], "stream": address["method"] == _STREAM}

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
        return last_user_text_of(_messages([{**(body.get("systemInstruction") or {}), "role": "user"}]))

    def last_user_text(self, body: JsonObject) -> str:
        """The text of the user's last content that has any; results of functions have none."""
        return last_user_text_of(_messages(body.get("contents") or []))

    def comparable(self, body: JsonObject) -> JsonObject:
        """See ``Endpoint.comparable``."""
        request = dict(self.canonical(body))
        settings, contents = request.pop("generationConfig", {}), request.pop("contents")
        return {**settings, "messages": _messages(contents), **request}

    def has_given(self, answer: JsonObject) -> bool:
        """An answer does not call itself anything."""
        return self.usage_field in answer

    def tokens(self, usage: Mapping[str, Any]) -> Usage:
        """Gemini leaves out counts of 0, and bills thoughts as output.

        The total is the oracle: a count that a later model adds beside candidates and thoughts is in it.
        https://ai.google.dev/api/generate-content#UsageMetadata
        """
        prompt, cached = required_count(usage, "promptTokenCount"), count(usage, "cachedContentTokenCount")
        asked = prompt + count(usage, "toolUsePromptTokenCount")
        rest = required_count(usage, "totalTokenCount") - asked
        if prompt < cached:
            raise ValueError("usage.promptTokenCount is less than its cached tokens")
        if rest < 0:
            raise ValueError("usage.totalTokenCount is less than its input tokens")
        answered = max(rest, count(usage, "candidatesTokenCount") + count(usage, "thoughtsTokenCount"))
        return Usage(asked - cached, answered, cache_read_tokens=cached)

    def fees(self, answer: JsonObject, usage: Mapping[str, Any]) -> Iterator[str]:
        """See ``UsageShape.fees``."""
        yield from dear_tiers(usage.get("serviceTier"))
        if usage.get("trafficType") not in _TRAFFIC:
            yield f"it was served as {str(usage['trafficType'])[:40]!r}, whose prices are not known"
        candidates = objects(answer.get("candidates"))
        if usage.get("toolUsePromptTokenCount") or any(each.get("groundingMetadata") for each in candidates):
            yield RAN_TOOLS
        details = [each for name in usage if str(name).endswith("TokensDetails") for each in objects(usage[name])]
        if any(each.get("modality") in ("AUDIO", "VIDEO") for each in details):
            yield HOLDS_SOUND
        if any(each.get("modality") == "IMAGE" for each in objects(usage.get("candidatesTokensDetails"))):
            yield HOLDS_PICTURE

    def contents(self, body: JsonObject) -> RequestContents:
        """See ``Endpoint.contents``."""
        images, problems = gemini_contents(body)
        return RequestContents(images, 0, problems)

    def endings(self, answer: JsonObject) -> Sequence[Any]:
        """The ``finishReason`` of each candidate; of a request that was blocked whole, a filter's."""
        found = [candidate.get("finishReason") for candidate in objects(answer.get("candidates"))]
        feedback = answer.get("promptFeedback")
        blocked = isinstance(feedback, Mapping) and feedback.get("blockReason")
        return found if found or not blocked else ["PROHIBITED_CONTENT"]

    def has_content(self, answer: JsonObject) -> bool:
        """Whether a part that is no thought has text or is something else."""
        contents = [candidate.get("content") for candidate in objects(answer.get("candidates"))]
        parts = [part for each in contents if isinstance(each, Mapping) for part in objects(each.get("parts"))]
        return any(not part.get("thought") and part.get("text") != "" for part in parts)

    def stream(self, request: JsonObject, answer: JsonObject, query: Mapping[str, str]) -> tuple[str, Iterator[bytes]]:
        """One event for each part; the last of a candidate says why it ended, and the last of all has the usage.

        Without ``alt=sse`` it is one list.
        """
        del request
        if query.get("alt") != "sse":
            return "application/json; charset=utf-8", iter([json.dumps(list(_chunks(answer))).encode()])
        return EVENT_STREAM, map(event, _chunks(answer))

    def error(self, status: int, message: str) -> JsonObject:
        """``{"error": {"code", "message", "status"}}``."""
        return {"error": {"code": status, "message": message, "status": _STATUS.get(status, "UNKNOWN")}}

    def scripted(self, step: Scripted) -> JsonObject:
        """See ``Endpoint.scripted``."""
        parts: list[JsonObject] = [{"text": step.text}] if step.text else []
        for ident, call in step.calls:
            parts.append({"functionCall": {"id": f"call_{ident}", "name": call.name, "args": dict(call.args)}})
        read = step.usage.cache_read_tokens
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": step.prompt_tokens,
                "candidatesTokenCount": step.usage.output_tokens,
                **({"cachedContentTokenCount": read} if read else {}),
                "totalTokenCount": step.prompt_tokens + step.usage.output_tokens,
            },
            "modelVersion": step.model,
            "responseId": step.ids[0],
        }


class Gemini(WireFormat):
    """See ``WireFormat``."""

    name = _NAME
    base_url = "https://generativelanguage.googleapis.com"
    declared = "api: gemini, key: GEMINI_API_KEY"
    endpoints = (GenerateContent(),)
    marks = ("x-goog-api-key",)
    key_headers = ("x-goog-api-key",)
    ended_in = "finishReason"
    new = frozenset({"createTime", "responseId"})
    words = frozenset({
        "avgLogprobs", "createTime", "finishReason", "modelVersion", "responseId", "usageMetadata", "logprobsResult",
        "thoughtSignature",
    })  # fmt: skip
    ways_out: ClassVar[Mapping[str, str]] = {
        r"(?:/v1\w*)?/models/[^/]+:\w+": "Have the system leave this method out when it is evaluated"
    }

    def environment(self, url: str, token: str) -> Mapping[str, str]:
        """Google's SDK looks for ``GOOGLE_GEMINI_BASE_URL``, LiteLLM for ``GEMINI_API_BASE``; both take either key."""
        return {
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_BASE": f"{url}/v1beta",
            "GEMINI_API_KEY": token,
            "GOOGLE_API_KEY": token,
        }

    def headers(self, key: str, query: str) -> dict[str, str]:
        """See ``WireFormat.headers``."""
        del query
        return {"x-goog-api-key": key} if key else {}

    def address(self, base: SplitResult, endpoint: str, model: str) -> str:
        """Below a version, which the base URL may leave out; the model is a part of the address."""
        path = base.path.rstrip("/")
        path += "" if _VERSION.search(path) else "/v1beta"
        return joined(base, path, f"models/{quote(model, safe='')}:{endpoint}")

    def sent(self, body: JsonObject, output_limit: str) -> JsonObject:
        """The request without the model."""
        del output_limit
        return {name: value for name, value in body.items() if name != "model"}

    def structured(self, question: ShapedQuestion) -> JsonObject:
        """See ``WireFormat.structured``."""
        return {
            "model": question.model,
            "systemInstruction": {"parts": [{"text": question.instructions}]},
            "contents": [{"role": "user", "parts": [{"text": question.form}]}],
            "generationConfig": {
                "maxOutputTokens": question.answer_tokens,
                "responseMimeType": "application/json",
                "responseJsonSchema": question.shape,
            },
        }

    def answer_text(self, body: JsonObject) -> str:
        """The texts of the one candidate, without its thoughts; see ``WireFormat.answer_text``."""
        candidates, feedback = body.get("candidates"), body.get("promptFeedback")
        if not candidates and isinstance(feedback, Mapping) and feedback.get("blockReason"):
            raise refusal(str(feedback["blockReason"]))
        if not isinstance(candidates, list) or len(candidates) != 1 or not isinstance(candidates[0], Mapping):
            raise misshapen("candidates", candidates)
        reason, content = candidates[0].get("finishReason"), candidates[0].get("content")
        if reason in _REFUSALS:
            raise refusal(str(reason))
        require_end(reason, ("STOP",))
        parts = content.get("parts") if isinstance(content, Mapping) else None
        if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
            raise misshapen("content", content)
        texts = [part.get("text", "") for part in parts if not part.get("thought")]
        if not all(isinstance(text, str) for text in texts):
            raise misshapen("content", content)
        return "".join(texts)


def _chunks(answer: JsonObject) -> Iterator[JsonObject]:
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


def _messages(contents: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
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
