"""Anthropic's wire format, with its one endpoint, Messages; Bedrock and Vertex serve Claude in it too."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult

from ratiba_action.llm.canonical_request import lasting_fields, without_nulls
from ratiba_action.llm.providers.contents import SHARED_FIELDS, Allowed
from ratiba_action.llm.wire_format import (
    EVENT_STREAM,
    Endpoint,
    Scripted,
    ShapedQuestion,
    WireFormat,
    event,
    joined,
    joined_text,
    misshapen,
    refusal,
    require_end,
)
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject
from ratiba_action.money.answer_usage import count, count_within, objects, required_count

_NAME = "anthropic"
_VERSION = "2023-06-01"
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
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_ALLOWED = Allowed(
    SHARED_FIELDS
    | {
        "cache_control", "inference_geo", "max_tokens", "messages", "output_config", "output_format", "speed",
        "stop_sequences", "system", "thinking", "top_k",
    },
    tools=re.compile(r"custom|(bash|memory|text_editor)_\d{8}"),
    untyped_tool="custom",
    tiers={None: "standard_only", "auto": "standard_only", "standard_only": "standard_only"},
)  # fmt: skip

_WRITTEN_FOR = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


class Messages(Endpoint):
    """``POST /v1/messages``."""

    provider = _NAME
    name = "messages"
    paths = ("/messages", "/v1/messages")
    shown_path = "/v1/messages"
    answers_as = "message"
    limits = ("max_tokens",)
    allowed = _ALLOWED
    image_tokens = 8_000

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

    def tokens(self, usage: Mapping[str, Any]) -> Usage:
        """The input leaves out the cached tokens, and the sums what a compaction took before them."""
        reported = Usage(
            input_tokens=required_count(usage, "input_tokens"),
            output_tokens=required_count(usage, "output_tokens"),
            cache_read_tokens=count(usage, "cache_read_input_tokens"),
            cache_write_tokens=max(
                count(usage, "cache_creation_input_tokens"),
                sum(count_within(usage, "cache_creation", name) for name in _WRITTEN_FOR),
            ),
        )
        summed = sum((self.tokens(step) for step in objects(usage.get("iterations"))), Usage())
        asked = reported.input_tokens + reported.cache_read_tokens + reported.cache_write_tokens
        return Usage(
            max(reported.input_tokens, summed.input_tokens),
            max(reported.output_tokens, summed.output_tokens, count(usage, "total_tokens") - asked),
            max(reported.cache_read_tokens, summed.cache_read_tokens),
            max(reported.cache_write_tokens, summed.cache_write_tokens),
        )

    def endings(self, answer: JsonObject) -> Sequence[Any]:
        """The one ``stop_reason``."""
        return (answer.get("stop_reason"),)

    def has_content(self, answer: JsonObject) -> bool:
        """Whether a block has text, calls a tool or is of a kind that is not known."""
        return any(
            block.get("type") not in _THOUGHTS and block.get("text") != "" for block in objects(answer.get("content"))
        )

    def stream(self, request: JsonObject, answer: JsonObject, query: Mapping[str, str]) -> tuple[str, Iterator[bytes]]:
        """Message start, each content block with its deltas, message delta, message stop."""
        del request, query
        return EVENT_STREAM, _events(answer)

    def error(self, status: int, message: str) -> JsonObject:
        """``{"type": "error", "error": {"type", "message"}}``."""
        return {"type": "error", "error": {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}}

    def scripted(self, step: Scripted) -> JsonObject:
        """See ``Endpoint.scripted``."""
        content: list[JsonObject] = [{"type": "text", "text": step.text}] if step.text else []
        for ident, call in step.calls:
            content.append({"type": "tool_use", "id": f"toolu_{ident}", "name": call.name, "input": dict(call.args)})
        return {
            "id": f"msg_{step.ids[0]}",
            "type": "message",
            "role": "assistant",
            "model": step.model,
            "content": content,
            "stop_reason": "tool_use" if step.tools else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": step.usage.input_tokens,
                "output_tokens": step.usage.output_tokens,
                "cache_creation_input_tokens": step.usage.cache_write_tokens,
                "cache_read_input_tokens": step.usage.cache_read_tokens,
            },
        }


class Anthropic(WireFormat):
    """See ``WireFormat``."""

    name = _NAME
    base_url = "https://api.anthropic.com"
    declared = ""
    endpoints = (Messages(),)
    marks = ("anthropic-version",)
    key_headers = ("x-api-key",)
    ended_in = "stop_reason"

    def environment(self, url: str, token: str) -> Mapping[str, str]:
        """See ``WireFormat.environment``."""
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": token}

    def headers(self, key: str, query: str) -> dict[str, str]:
        """See ``WireFormat.headers``."""
        del query
        return {"anthropic-version": _VERSION} | ({"x-api-key": key} if key else {})

    def address(self, base: SplitResult, endpoint: str, model: str) -> str:
        """Below ``/v1``, which the base URL may leave out."""
        del model
        path = base.path.rstrip("/")
        return joined(base, path if path.endswith("/v1") else f"{path}/v1", endpoint)

    def structured(self, question: ShapedQuestion) -> JsonObject:
        """See ``WireFormat.structured``."""
        return {
            "model": question.model,
            "max_tokens": question.answer_tokens,
            "system": question.instructions,
            "messages": [{"role": "user", "content": question.form}],
            "output_config": {"format": {"type": "json_schema", "schema": question.shape}},
        }

    def answer_text(self, body: JsonObject) -> str:
        """The texts of all blocks; see ``WireFormat.answer_text``."""
        reason, blocks = body.get("stop_reason"), body.get("content")
        if reason == "refusal":
            raise refusal()
        require_end(reason, ("end_turn", "stop_sequence"))
        if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
            raise misshapen("content", blocks)
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        if not all(isinstance(text, str) for text in texts):
            raise misshapen("content", blocks)
        return "".join(map(str, texts))


def _events(answer: JsonObject) -> Iterator[bytes]:
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
    yield _named({"type": "message_delta", "delta": ending, "usage": {"output_tokens": usage.get("output_tokens", 0)}})
    yield _named({"type": "message_stop"})


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
