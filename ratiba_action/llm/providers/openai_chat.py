"""OpenAI's Chat Completions endpoint, and what its other endpoints have in common with it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ratiba_action.llm.canonical_request import lasting_fields, without_nulls
from ratiba_action.llm.providers.contents import SHARED_FIELDS, Allowed
from ratiba_action.llm.wire_format import (
    EVENT_STREAM,
    Endpoint,
    Scripted,
    event,
    joined_text,
)
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject
from ratiba_action.money.answer_usage import (
    READ_FROM_CACHE,
    WRITTEN_TO_CACHE,
    count,
    count_within,
    objects,
    required_count,
)

OPENAI = "openai"
CREATED = 1_767_225_600
"""A fixed moment, 2026-01-01 UTC: a scripted answer that is built twice is the same twice."""
_END = b"data: [DONE]\n\n"
IMAGE_TOKENS = 60_000
OWN_TOOLS = re.compile(r"custom|function")
TIERS: Mapping[Any, str] = {None: "default", "auto": "default", "default": "default", "flex": "flex"}
OPENAI_FIELDS = SHARED_FIELDS | {
    "parallel_tool_calls", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier",
    "store", "stream_options", "top_logprobs", "user",
}  # fmt: skip
_ALLOWED = Allowed(
    OPENAI_FIELDS
    | {
        "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
        "max_tokens", "messages", "modalities", "n", "presence_penalty", "reasoning_effort", "response_format", "seed",
        "stop", "verbosity",
    },
    tools=OWN_TOOLS,
    tiers=TIERS,
)  # fmt: skip
SYSTEM_ROLES = ("system", "developer")
_CODES = {
    401: "invalid_api_key",
    403: "model_not_allowed",
    404: "not_found",
    413: "request_too_large",
    429: "rate_limit_exceeded",
}


def missing_field(body: JsonObject, name: str) -> str | None:
    """The sentence that OpenAI answers when ``model`` or the field called ``name`` is missing."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "you must provide a model parameter"
    if not body.get(name):
        return f"Missing required parameter: '{name}'."
    return None


def text_blocks(message: Any, kind: str) -> Any:
    """A message whose string content became a list of one text block, without null fields."""
    cleaned = without_nulls(message)
    if isinstance(cleaned, dict) and isinstance(cleaned.get("content"), str):
        cleaned["content"] = [{"type": kind, "text": cleaned["content"]}]
    return cleaned


def routes(name: str) -> tuple[str, ...]:
    """Where the gateway serves an endpoint; the SDKs of Azure and Groq look for it below ``/openai``."""
    return (f"/{name}", f"/v1/{name}", f"/openai/v1/{name}", f"/openai/deployments/{{deployment}}/{name}")


_PREDICTED = ("accepted_prediction_tokens", "rejected_prediction_tokens")


def openai_tokens(usage: Mapping[str, Any], asked: str, answered: str) -> Usage:
    """OpenAI's input includes what was read from its cache and written to it, its output the reasoning.

    Others who speak its format leave the reasoning out of the output (xAI, Gemini, proxies) or the cached tokens out
    of the input; then the total has them.
    """
    details = f"{asked}_details"
    read = max(count_within(usage, details, "cached_tokens"), *(count(usage, name) for name in READ_FROM_CACHE))
    written = max(
        count_within(usage, details, "cache_write_tokens"),
        count_within(usage, details, "cache_creation_tokens"),
        *(max(count(usage, name), count_within(usage, details, name)) for name in WRITTEN_TO_CACHE),
    )
    prompt, output = required_count(usage, asked), required_count(usage, answered)
    fresh = prompt - read - written if prompt >= read + written else prompt
    reasoning = max(count_within(usage, f"{answered}_details", "reasoning_tokens"), count(usage, "reasoning_tokens"))
    total = count(usage, "total_tokens")
    apart = reasoning if reasoning > output or not total else 0
    predicted = sum(count_within(usage, f"{answered}_details", name) for name in _PREDICTED)
    return Usage(fresh, max(output + apart, reasoning + predicted, total - fresh - read - written), read, written)


def cached_tokens(usage: Usage) -> dict[str, int]:
    """The details of a scripted answer's input."""
    written = {"cache_write_tokens": usage.cache_write_tokens} if usage.cache_write_tokens else {}
    return {"cached_tokens": usage.cache_read_tokens, **written}


class OpenAIEndpoint(Endpoint):
    """What OpenAI's endpoints have in common."""

    provider = OPENAI
    image_tokens = IMAGE_TOKENS
    tier_is_optional = True

    def error(self, status: int, message: str) -> JsonObject:
        """``{"error": {"message", "type", "param", "code"}}``."""
        kind = "server_error" if status >= 500 else "invalid_request_error"  # noqa: PLR2004 - the HTTP class
        return {"error": {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}}


class ChatCompletions(OpenAIEndpoint):
    """``POST /v1/chat/completions``."""

    name = "chat/completions"
    paths = routes(name)
    shown_path = f"/v1/{name}"
    answers_as = "chat.completion"
    limits = ("max_completion_tokens", "max_tokens")
    allowed = _ALLOWED

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, or None."""
        problem = missing_field(body, "messages")
        if problem is None and not isinstance(body["messages"], list):
            return "Invalid type for 'messages': expected an array."
        return problem

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request with every content as a list of blocks and one name for the output limit."""
        request = lasting_fields(body, left_out=["max_tokens"])
        if body.get("max_tokens") is not None:
            request.setdefault("max_completion_tokens", body["max_tokens"])
        request["messages"] = [text_blocks(message, "text") for message in body["messages"]]
        return request

    def system_prompt(self, body: JsonObject) -> str:
        """The texts of the system and developer messages, one a line."""
        messages = [message for message in body.get("messages", []) if isinstance(message, Mapping)]
        return "\n".join(joined_text(m.get("content")) for m in messages if m.get("role") in SYSTEM_ROLES)

    def tokens(self, usage: Mapping[str, Any]) -> Usage:
        """See ``openai_tokens``."""
        return openai_tokens(usage, "prompt_tokens", "completion_tokens")

    def endings(self, answer: JsonObject) -> Sequence[Any]:
        """The ``finish_reason`` of each choice."""
        return [choice.get("finish_reason") for choice in objects(answer.get("choices"))]

    def has_content(self, answer: JsonObject) -> bool:
        """Whether a choice has text or calls a tool."""
        messages = [choice.get("message") for choice in objects(answer.get("choices"))]
        return any(isinstance(each, Mapping) and (each.get("content") or each.get("tool_calls")) for each in messages)

    def stream(self, request: JsonObject, answer: JsonObject, query: Mapping[str, str]) -> tuple[str, Iterator[bytes]]:
        """A chunk with the role, one with the text or tool calls, one with the end; usage if it was asked for."""
        del query
        return EVENT_STREAM, _events(request, answer)

    def scripted(self, step: Scripted) -> JsonObject:
        """See ``Endpoint.scripted``."""
        calls = [
            {
                "id": f"call_{ident}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.args), ensure_ascii=False)},
            }
            for ident, call in step.calls
        ]
        message: dict[str, Any] = {"role": "assistant", "content": step.text or None, "refusal": None}
        if calls:
            message["tool_calls"] = calls
        reason = "tool_calls" if calls else "stop"
        return {
            "id": f"chatcmpl-{step.ids[0]}",
            "object": "chat.completion",
            "created": CREATED,
            "model": step.model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
            "usage": {
                "prompt_tokens": step.prompt_tokens,
                "completion_tokens": step.usage.output_tokens,
                "total_tokens": step.prompt_tokens + step.usage.output_tokens,
                "prompt_tokens_details": cached_tokens(step.usage),
            },
        }


def _events(request: JsonObject, answer: JsonObject) -> Iterator[bytes]:
    head = {name: answer.get(name) for name in ("id", "created", "model", "system_fingerprint")}
    head["object"] = "chat.completion.chunk"
    for choice in answer.get("choices") or []:
        for delta, reason in _deltas(choice):
            part = {"index": choice.get("index", 0), "delta": delta, "finish_reason": reason, "logprobs": None}
            yield event({**head, "choices": [part]})
    options = request.get("stream_options")
    if isinstance(options, Mapping) and options.get("include_usage"):
        yield event({**head, "choices": [], "usage": answer.get("usage")})
    yield _END


def _deltas(choice: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    message = choice.get("message") or {}
    yield {"role": message.get("role", "assistant"), "content": None if message.get("content") is None else ""}, None
    for name in ("content", "refusal"):
        if message.get(name) is not None:
            yield {name: message[name]}, None
    for index, call in enumerate(message.get("tool_calls") or []):
        yield {"tool_calls": [{"index": index, **call}]}, None
    yield {}, choice.get("finish_reason")
