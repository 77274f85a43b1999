"""The wire format of OpenAI's Chat Completions endpoint."""

from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.llm.canonical_request import joined_text, last_text_of, lasting_fields
from ratiba_action.llm.openai_wire import error_body, missing_field, text_blocks
from ratiba_action.llm.recorded_usage import recorded_usage
from ratiba_action.llm.sse import END, event
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject

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
