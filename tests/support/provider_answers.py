"""Whole answers of each endpoint as the stand-ins give them, and what they refuse as the providers do."""

from collections.abc import Mapping
from typing import Any

from ratiba_action.llm.endpoints import ENDPOINTS as SERVED
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.scripted_answers import Step, estimated_usage
from ratiba_action.model.conversation import Usage
from tests.support.provider_faults import Failure

ENDPOINTS = tuple(endpoint.name for endpoint in SERVED)
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens")
_FIELDS = {
    "generateContent": {
        "model", "contents", "systemInstruction", "generationConfig", "tools", "toolConfig", "safetySettings",
    },
    "converse": {
        "model", "messages", "system", "inferenceConfig", "toolConfig", "outputConfig", "serviceTier",
        "additionalModelRequestFields", "performanceConfig", "requestMetadata", "additionalModelResponseFieldPaths",
    },
}  # fmt: skip
"""Of the formats whose providers refuse every other one."""
_RATE_LIMITED, _OVERLOADED, _SERVER_ERROR = 429, 529, 500


def answer_body(endpoint: str, step: Step, asked: Mapping[str, Any], seed: str, usage: Usage) -> dict[str, Any]:
    """The body of an answer.

    Args:
        endpoint: one of ``ENDPOINTS``.
        step: what the model says.
        asked: the request's body.
        seed: makes ids.
        usage: the tokens to report.
    """
    if endpoint == "embeddings":
        return _embeddings(asked, usage)
    return dict(endpoint_named(endpoint).scripted(step.scripted(asked["model"], seed, usage)) or {})


def spent_tokens(endpoint: str, step: Step, asked: Mapping[str, Any]) -> Usage:
    """The tokens of an answer: those of the step, or estimated ones, within the request's output limit."""
    usage = step.usage or estimated_usage(step, dict(asked))
    if endpoint == "embeddings":
        return Usage(usage.input_tokens)
    if endpoint == "generateContent":  # which bills nothing for what it writes to its cache
        usage = Usage(usage.input_tokens + usage.cache_write_tokens, usage.output_tokens, usage.cache_read_tokens)
    given = {**asked.get("generationConfig", {}), **asked.get("inferenceConfig", {}), **asked}
    limits = [given[name] for name in _LIMITS if given.get(name) is not None]
    if step.usage is not None or not limits:
        return usage
    return Usage(usage.input_tokens, min(usage.output_tokens, *limits))


def flaw(endpoint: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
    """Why the provider refuses the request with status 400, or None."""
    if not isinstance(body.get("model"), str):
        return "model: Field required"
    if body.get("stream"):
        return "this stand-in does not stream"
    if endpoint in _FIELDS:
        unknown = sorted({*body} - _FIELDS[endpoint])
        return f"Invalid JSON payload received. Unknown name {unknown[0]!r}" if unknown else None
    if endpoint != "messages":
        return None
    if "anthropic-version" not in headers:
        return "anthropic-version: header is required"
    return None if isinstance(body.get("max_tokens"), int) else "max_tokens: Field required"


def error_body(endpoint: str, failure: Failure) -> dict[str, Any]:
    """The body of a failure in the provider's shape."""
    if endpoint == "messages":
        kinds = {_RATE_LIMITED: "rate_limit_error", _OVERLOADED: "overloaded_error"}
        return {
            "type": "error",
            "error": {"type": kinds.get(failure.status, "api_error"), "message": failure.message},
        }
    if endpoint == "generateContent":
        statuses = {_RATE_LIMITED: "RESOURCE_EXHAUSTED", _SERVER_ERROR: "INTERNAL"}
        status = statuses.get(failure.status, "INVALID_ARGUMENT")
        return {"error": {"code": failure.status, "message": failure.message, "status": status}}
    if endpoint == "converse":
        return {"message": failure.message}
    kind = "server_error" if failure.status >= _SERVER_ERROR else "invalid_request_error"
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": failure.code}}


def _embeddings(asked: Mapping[str, Any], usage: Usage) -> dict[str, Any]:
    texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
    return {
        "object": "list",
        "model": asked["model"],
        "data": [{"object": "embedding", "index": index, "embedding": [0.25, -0.5]} for index, _ in enumerate(texts)],
        "usage": {"prompt_tokens": usage.input_tokens, "total_tokens": usage.input_tokens},
    }
