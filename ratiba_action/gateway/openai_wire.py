"""What OpenAI's endpoints share: errors, checks of a request, usage."""

from collections.abc import Mapping
from typing import Any

from ratiba_action.core.model.conversation import Usage
from ratiba_action.core.model.values import JsonObject
from ratiba_action.errors import RecordingError
from ratiba_action.gateway.canonical_request import without_nulls
from ratiba_action.gateway.counts import count, nested_count

_CODES = {401: "invalid_api_key", 403: "model_not_allowed", 404: "not_found", 413: "request_too_large"}


def error_body(status: int, message: str) -> JsonObject:
    """``{"error": {"message", "type", "param", "code"}}``."""
    kind = "server_error" if status >= 500 else "invalid_request_error"  # noqa: PLR2004 - the HTTP class
    return {"error": {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}}


def missing_field(body: JsonObject, name: str) -> str | None:
    """The sentence that OpenAI answers when ``model`` or the field called ``name`` is missing."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "you must provide a model parameter"
    if not body.get(name):
        return f"Missing required parameter: '{name}'."
    return None


def reported_usage(answer: JsonObject, asked: str, answered: str, details: str) -> Usage:
    """The tokens of an answer; OpenAI's input includes the cached ones, ours does not.

    Args:
        answer: the whole body.
        asked: name of the count of input tokens.
        answered: name of the count of output tokens.
        details: name of the group that holds ``cached_tokens``.

    Raises:
        RecordingError: the answer reports no usage.
    """
    usage = answer.get("usage")
    if not isinstance(usage, Mapping):
        raise RecordingError("The answer of OpenAI reports no usage.", "Record it again.")
    cached = nested_count(usage, details, "cached_tokens")
    written = nested_count(usage, details, "cache_write_tokens")
    return Usage(
        input_tokens=max(count(usage, asked) - cached - written, 0),
        output_tokens=count(usage, answered),
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )


def text_blocks(message: Any, kind: str) -> Any:
    """A message whose string content became a list of one text block, without null fields."""
    cleaned = without_nulls(message)
    if isinstance(cleaned, dict) and isinstance(cleaned.get("content"), str):
        cleaned["content"] = [{"type": kind, "text": cleaned["content"]}]
    return cleaned
