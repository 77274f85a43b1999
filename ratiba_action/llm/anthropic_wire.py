"""The wire format of Anthropic's Messages endpoint."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.llm.canonical_request import joined_text, last_text_of, lasting_fields, recorded_usage, without_nulls
from ratiba_action.llm.endpoint import event
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_CACHE_CONTROL = ("cache_control",)


class AnthropicMessages:
    """``POST /v1/messages``."""

    provider = "anthropic"
    name = "messages"

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, or None."""
        if not isinstance(body.get("model"), str) or not body["model"]:
            return "model: Field required"
        if not isinstance(body.get("messages"), list) or not body["messages"]:
            return "messages: at least one message is required"
        limit = body.get("max_tokens")
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            return "max_tokens: Field required, a whole number of at least 1"
        return None

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request with every content as a list of blocks; prompt caching leaves no trace."""
        request = lasting_fields(body)
        if "system" in request:
            request["system"] = _blocks(request["system"])
        request["messages"] = [_message(message) for message in body["messages"]]
        if isinstance(request.get("tools"), list):
            request["tools"] = [without_nulls(tool, _CACHE_CONTROL) for tool in request["tools"]]
        return request

    def system_prompt(self, body: JsonObject) -> str:
        """The text of the ``system`` field."""
        return joined_text(body.get("system"))

    def last_user_text(self, body: JsonObject) -> str:
        """The text of the user's last message that has any; tool results have none."""
        return last_text_of(body.get("messages"), "user")

    def usage(self, answer: JsonObject) -> Usage:
        """The tokens of the answer's ``usage``; its input leaves out the cached ones."""
        return recorded_usage(self.provider, self.name, answer)

    def stream(self, request: JsonObject, answer: JsonObject) -> Iterator[bytes]:  # noqa: ARG002 - of the protocol
        """Message start, each content block with its deltas, message delta, message stop."""
        usage = dict(answer.get("usage") or {})
        opening = {
            **answer,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": 0},
        }
        yield _named({"type": "message_start", "message": opening})
        for index, block in enumerate(answer.get("content") or []):
            yield from _block_events(index, block)
        ending = {"stop_reason": answer.get("stop_reason"), "stop_sequence": answer.get("stop_sequence")}
        yield _named(
            {"type": "message_delta", "delta": ending, "usage": {"output_tokens": usage.get("output_tokens", 0)}}
        )
        yield _named({"type": "message_stop"})

    def error(self, status: int, message: str) -> JsonObject:
        """``{"type": "error", "error": {"type", "message"}}``."""
        return {"type": "error", "error": {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}}


def _message(message: Any) -> Any:
    if not isinstance(message, Mapping):
        return message
    return {**without_nulls(message), "content": _blocks(message.get("content"))}


def _blocks(content: Any) -> Any:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return content
    blocks = [without_nulls(block, _CACHE_CONTROL) for block in content]
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_result" and "content" in block:
            block["content"] = _blocks(block["content"])
    return blocks


def _block_events(index: int, block: Mapping[str, Any]) -> Iterator[bytes]:
    start, deltas = _opened(block)
    yield _named({"type": "content_block_start", "index": index, "content_block": start})
    for delta in deltas:
        yield _named({"type": "content_block_delta", "index": index, "delta": delta})
    yield _named({"type": "content_block_stop", "index": index})


def _opened(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it starts, empty, and the deltas that fill it; an unknown kind of block starts full."""
    match block.get("type"):
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block.get("text", "")}]
        case "tool_use" | "server_tool_use":
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": json.dumps(block.get("input", {}))}
            ]
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": block.get("thinking", "")},
                {"type": "signature_delta", "signature": block.get("signature", "")},
            ]
        case _:
            return dict(block), []


def _named(data: dict[str, Any]) -> bytes:
    return event(data, data["type"])
