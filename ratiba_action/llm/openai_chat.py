"""The wire format of OpenAI's Chat Completions endpoint."""

from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.llm.canonical_request import joined_text, last_text_of, lasting_fields, recorded_usage, without_nulls
from ratiba_action.llm.endpoint import END, event
from ratiba_action.model.conversation import Usage
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


class OpenAIEmbeddings:
    """``POST /v1/embeddings``."""

    provider = "openai"
    name = "embeddings"

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, or None."""
        return missing_field(body, "input")

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request with its input as a list."""
        request = lasting_fields(body)
        if isinstance(body["input"], str):
            request["input"] = [body["input"]]
        return request

    def system_prompt(self, body: JsonObject) -> str:  # noqa: ARG002 - of the protocol
        """An embedding has no system prompt."""
        return ""

    def last_user_text(self, body: JsonObject) -> str:
        """The text to embed, or the last of several."""
        given = body.get("input")
        last = given[-1] if isinstance(given, list) and given else given
        return last if isinstance(last, str) else ""

    def usage(self, answer: JsonObject) -> Usage:
        """The tokens of the answer's ``usage``; there is no output."""
        return recorded_usage(self.provider, self.name, answer)

    def stream(self, request: JsonObject, answer: JsonObject) -> Iterator[bytes]:  # noqa: ARG002 - of the protocol
        """Embeddings are never streamed."""
        yield from ()

    def error(self, status: int, message: str) -> JsonObject:
        """OpenAI's error body."""
        return error_body(status, message)


_SYSTEM_ROLES = ("system", "developer")


class OpenAIChat:
    """``POST /v1/chat/completions``."""

    provider = "openai"
    name = "chat/completions"

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
        return "\n".join(joined_text(m.get("content")) for m in messages if m.get("role") in _SYSTEM_ROLES)

    def last_user_text(self, body: JsonObject) -> str:
        """The text of the user's last message."""
        return last_text_of(body.get("messages"), "user")

    def usage(self, answer: JsonObject) -> Usage:
        """The tokens of the answer's ``usage``."""
        return recorded_usage(self.provider, self.name, answer)

    def stream(self, request: JsonObject, answer: JsonObject) -> Iterator[bytes]:
        """A chunk with the role, one with the text or tool calls, one with the end; usage if it was asked for."""
        head = {name: answer.get(name) for name in ("id", "created", "model", "system_fingerprint")}
        head["object"] = "chat.completion.chunk"
        for choice in answer.get("choices") or []:
            for delta, reason in _deltas(choice):
                part = {"index": choice.get("index", 0), "delta": delta, "finish_reason": reason, "logprobs": None}
                yield event({**head, "choices": [part]})
        options = request.get("stream_options")
        if isinstance(options, Mapping) and options.get("include_usage"):
            yield event({**head, "choices": [], "usage": answer.get("usage")})
        yield END

    def error(self, status: int, message: str) -> JsonObject:
        """OpenAI's error body."""
        return error_body(status, message)


def _deltas(choice: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    message = choice.get("message") or {}
    yield {"role": message.get("role", "assistant"), "content": None if message.get("content") is None else ""}, None
    for name in ("content", "refusal"):
        if message.get(name) is not None:
            yield {name: message[name]}, None
    for index, call in enumerate(message.get("tool_calls") or []):
        yield {"tool_calls": [{"index": index, **call}]}, None
    yield {}, choice.get("finish_reason")
