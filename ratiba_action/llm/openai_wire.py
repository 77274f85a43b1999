"""What OpenAI's endpoints share: errors and checks of a request."""

from typing import Any

from ratiba_action.llm.canonical_request import without_nulls
from ratiba_action.model.values import JsonObject

_CODES = {
    401: "invalid_api_key",
    403: "model_not_allowed",
    404: "not_found",
    413: "request_too_large",
    429: "rate_limit_exceeded",
}


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


def text_blocks(message: Any, kind: str) -> Any:
    """A message whose string content became a list of one text block, without null fields."""
    cleaned = without_nulls(message)
    if isinstance(cleaned, dict) and isinstance(cleaned.get("content"), str):
        cleaned["content"] = [{"type": kind, "text": cleaned["content"]}]
    return cleaned
