"""Amazon Bedrock's wire format: ``Converse`` and ``ConverseStream``, the same for every model that Bedrock serves.

The gate calls it with a Bedrock API key, which AWS takes as a bearer token: it signs nothing. Sources:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html and its service model in botocore;
https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html;
https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html.
"""

import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import SplitResult, quote

from ratiba_action.llm.canonical_request import lasting_fields, without_nulls
from ratiba_action.llm.providers.contents import RequestContents
from ratiba_action.llm.providers.converse_bounds import converse_contents
from ratiba_action.llm.wire_format import (
    Endpoint,
    Scripted,
    ShapedQuestion,
    WireFormat,
    joined,
    joined_text,
    misshapen,
    refusal,
    require_end,
)
from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import JsonObject
from ratiba_action.money.answer_usage import RAN_TOOLS, count, dear_tiers, objects, required_count

_NAME = "converse"
_STREAM = "converse-stream"
_MODEL = re.compile(r"[A-Za-z0-9][\w.:-]{0,199}", re.ASCII)
_ERRORS = {
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/\s]+)/")
_VOLATILE = ("performanceConfig", "requestMetadata", "serviceTier")
_COUNTS = frozenset({
    "inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens",
    "cacheReadInputTokenCount", "cacheWriteInputTokenCount",
})  # fmt: skip
_REFUSALS = ("content_filtered", "guardrail_intervened", "refusal")


class Converse(Endpoint):
    """``POST /model/{model}/converse`` and ``/model/{model}/converse-stream``."""

    provider = _NAME
    name = _NAME
    paths = (f"/model/{{model:[^/]+}}/{{method:{_NAME}|{_STREAM}}}",)
    shown_path = f"/model/MODEL/{_NAME}"
    limits = ("maxTokens",)
    limits_in = "inferenceConfig"
    choices = ""
    image_tokens = 60_000
    instructing = ("toolConfig", "outputConfig")

    def received(self, body: JsonObject, address: Mapping[str, str]) -> JsonObject:
        """The request with the model and the kind of answer that its address has."""
        return {**body, "model": address["model"], "stream": address["method"] == _STREAM}

    def flaw(self, body: JsonObject) -> str | None:
        """What makes the request unusable, or None."""
        if not isinstance(body.get("model"), str) or not _MODEL.fullmatch(body["model"]):
            return f"{str(body.get('model'))[:60]!r} is not the id of a model: give no ARN."
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            return "messages: at least one message is required."
        system = [{"content": body["system"]}] if body.get("system") is not None else []
        if not all(_is_message(message) for message in [*messages, *system]):
            return "Each message is an object with a list of content, each block an object."
        settings = [body.get(name) for name in ("inferenceConfig", "toolConfig")]
        return None if all(isinstance(each, Mapping | None) for each in settings) else "A setting is not an object."

    def canonical(self, body: JsonObject) -> JsonObject:
        """The request without nulls; prompt caching leaves no trace."""
        request = lasting_fields(body, left_out=_VOLATILE)
        request["messages"] = [
            {**without_nulls(each), "content": _lasting_blocks(each["content"])} for each in body["messages"]
        ]
        if "system" in request:
            request["system"] = _lasting_blocks(request["system"])
        for name in ("inferenceConfig", "toolConfig"):
            if name in request:
                request[name] = without_nulls(request[name])
        if isinstance(request.get("toolConfig", {}).get("tools"), list):
            request["toolConfig"]["tools"] = _lasting_blocks(request["toolConfig"]["tools"])
        return request

    def comparable(self, body: JsonObject) -> JsonObject:
        """See ``Endpoint.comparable``."""
        request = dict(self.canonical(body))
        settings, tools = request.pop("inferenceConfig", {}), request.pop("toolConfig", {})
        messages = [{**each, "content": [_block(part) for part in each["content"]]} for each in request["messages"]]
        return {**settings, **tools, **request, "messages": messages}

    def system_prompt(self, body: JsonObject) -> str:
        """The texts of the ``system`` field, one a line."""
        return joined_text(body.get("system"))

    def has_given(self, answer: JsonObject) -> bool:
        """An answer does not call itself anything."""
        return "stopReason" in answer and isinstance(answer.get("output"), Mapping)

    def tokens(self, usage: Mapping[str, Any]) -> Usage:
        """The input leaves out the cached tokens; what the total has beside it and them is output."""
        read, written = count(usage, "cacheReadInputTokens"), count(usage, "cacheWriteInputTokens")
        asked, answered = required_count(usage, "inputTokens"), required_count(usage, "outputTokens")
        rest = count(usage, "totalTokens") - asked - read - written
        return Usage(asked, max(answered, rest), read, written)

    def long_cache_writes(self, usage: Mapping[str, Any]) -> int:
        """Those of ``cacheDetails`` that last an hour."""
        return sum(count(each, "inputTokens") for each in objects(usage.get("cacheDetails")) if each.get("ttl") == "1h")

    def fees(self, answer: JsonObject, usage: Mapping[str, Any]) -> Iterator[str]:
        """See ``UsageShape.fees``."""
        found = (answer.get(name) for name in ("serviceTier", "performanceConfig", "trace"))
        tier, speed, trace = (each if isinstance(each, Mapping) else {} for each in found)
        yield from dear_tiers(tier.get("type"))
        if speed.get("latency") not in (None, "standard"):
            yield f"it was served at the latency {str(speed['latency'])[:40]!r}, whose prices are not known"
        if trace.get("guardrail") or answer.get("stopReason") == "guardrail_intervened":
            yield "a guardrail looked at it, which is billed apart"
        if trace.get("promptRouter"):
            yield "a router chose the model, which is billed apart"
        calls = [block.get("toolUse") for block in _content(answer)]
        ran = any(isinstance(call, Mapping) and call.get("type") == "server_tool_use" for call in calls)
        if ran or usage.get("serverToolUsage"):
            yield RAN_TOOLS
        for name, value in usage.items():
            if isinstance(value, int) and value and name not in _COUNTS:
                yield f"its usage counts {str(name)[:60]!r}, which is not known"

    def contents(self, body: JsonObject) -> RequestContents:
        """See ``Endpoint.contents``."""
        return converse_contents(body)

    def endings(self, answer: JsonObject) -> Sequence[Any]:
        """The one ``stopReason``."""
        return (answer.get("stopReason"),)

    def has_content(self, answer: JsonObject) -> bool:
        """Whether a block that is no reasoning has text or is something else."""
        return any("reasoningContent" not in block and block.get("text") != "" for block in _content(answer))

    def stream(self, request: JsonObject, answer: JsonObject, query: Mapping[str, str]) -> tuple[str, Iterator[bytes]]:
        """Message start, each block with its deltas, message stop, metadata; each framed as AWS frames events."""
        del request, query
        return "application/vnd.amazon.eventstream", (_frame(kind, data) for kind, data in _events(answer))

    def error(self, status: int, message: str) -> JsonObject:
        """``{"__type", "message"}``."""
        return {"__type": _ERRORS.get(status, "ValidationException"), "message": message}

    def scripted(self, step: Scripted) -> JsonObject:
        """See ``Endpoint.scripted``."""
        content: list[JsonObject] = [{"text": step.text}] if step.text else []
        for ident, call in step.calls:
            content.append({"toolUse": {"toolUseId": f"tooluse_{ident}", "name": call.name, "input": dict(call.args)}})
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": "tool_use" if step.tools else "end_turn",
            "usage": {
                "inputTokens": step.usage.input_tokens,
                "outputTokens": step.usage.output_tokens,
                "totalTokens": step.prompt_tokens + step.usage.output_tokens,
                "cacheReadInputTokens": step.usage.cache_read_tokens,
                "cacheWriteInputTokens": step.usage.cache_write_tokens,
            },
            "metrics": {"latencyMs": 1},
        }


class BedrockConverse(WireFormat):
    """See ``WireFormat``."""

    name = _NAME
    base_url = "https://bedrock-runtime.{region}.amazonaws.com"
    declared = "api: converse, region: us-east-1, key: AWS_BEARER_TOKEN_BEDROCK"
    endpoints = (Converse(),)
    marks = ("amz-sdk-invocation-id",)
    ended_in = "stopReason"
    call_id = "toolUseId"
    new = frozenset({"metrics", "trace"})
    words = frozenset({"metrics", "performanceConfig", "redactedContent", "serviceTier", "stopReason", "toolUseId"})
    error_headers = ("X-Amzn-ErrorType",)
    ways_out: ClassVar[Mapping[str, str]] = {
        r"/model/.+/(?:converse|invoke)[a-z-]*": (
            "Bedrock's InvokeModel and ARNs cannot be forwarded: call Converse with the id of a model"
        )
    }

    def environment(self, url: str, token: str) -> Mapping[str, str]:
        """AWS's SDKs send bearer tokens over https only, so that the system signs, with the token for a key's id."""
        keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), token)
        return {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url, **keys}

    def offered(self, headers: Mapping[str, str]) -> Iterator[str]:
        """The id of the key that signed the request; the gateway is on this machine and checks no signature."""
        signed = _SIGNED.match(headers.get("Authorization", ""))
        return iter((signed[1],) if signed else ())

    def headers(self, key: str, query: str) -> dict[str, str]:
        """See ``WireFormat.headers``."""
        del query
        return {"Authorization": f"Bearer {key}"} if key else {}

    def address(self, base: SplitResult, endpoint: str, model: str) -> str:
        """The model is a part of the address."""
        return joined(base, f"{base.path.rstrip('/')}/model/{quote(model, safe='')}", endpoint)

    def sent(self, body: JsonObject, output_limit: str) -> JsonObject:
        """The request without the model."""
        del output_limit
        return {name: value for name, value in body.items() if name != "model"}

    def own_error(self, headers: Mapping[str, str], body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """AWS names its errors in a header; without it something on the way has answered."""
        kind = headers.get("X-Amzn-ErrorType", "")
        return {"type": kind.partition(":")[0], "message": body.get("message") or body.get("Message")} if kind else None

    def structured(self, question: ShapedQuestion) -> JsonObject:
        """See ``WireFormat.structured``."""
        named = {"name": question.title, "schema": json.dumps(question.shape)}
        return {
            "model": question.model,
            "system": [{"text": question.instructions}],
            "messages": [{"role": "user", "content": [{"text": question.form}]}],
            "inferenceConfig": {"maxTokens": question.answer_tokens},
            "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": named}}},
        }

    def answer_text(self, body: JsonObject) -> str:
        """The texts of all blocks; see ``WireFormat.answer_text``."""
        reason, output = body.get("stopReason"), body.get("output")
        if reason in _REFUSALS:
            raise refusal(str(reason))
        require_end(reason, ("end_turn", "stop_sequence"))
        message = output.get("message") if isinstance(output, Mapping) else None
        blocks = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
            raise misshapen("content", blocks)
        texts = [block.get("text", "") for block in blocks]
        if not all(isinstance(text, str) for text in texts):
            raise misshapen("content", blocks)
        return "".join(texts)


def _is_message(message: Any) -> bool:
    content = message.get("content") if isinstance(message, Mapping) else None
    return isinstance(content, list) and all(isinstance(block, Mapping) for block in content)


def _lasting_blocks(blocks: Sequence[Any]) -> list[Any]:
    return [without_nulls(block) for block in blocks if not (isinstance(block, Mapping) and "cachePoint" in block)]


def _block(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block in the words of the other providers."""
    call, result = part.get("toolUse"), part.get("toolResult")
    if isinstance(call, Mapping):
        return {"type": "tool_use", "id": call.get("toolUseId"), "name": call.get("name"), "input": call.get("input")}
    if isinstance(result, Mapping):
        return {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": result.get("content")}
    return part


def _content(answer: JsonObject) -> list[Mapping[str, Any]]:
    output = answer.get("output")
    message = output.get("message") if isinstance(output, Mapping) else None
    return objects(message.get("content")) if isinstance(message, Mapping) else []


def _events(answer: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    message = answer["output"]["message"]
    yield "messageStart", {"role": message.get("role", "assistant")}
    for index, block in enumerate(message.get("content") or []):
        place = {"contentBlockIndex": index}
        call = block.get("toolUse")
        if call is not None:
            named = {name: call[name] for name in ("toolUseId", "name", "type") if name in call}
            yield "contentBlockStart", {**place, "start": {"toolUse": named}}
        yield from (("contentBlockDelta", {**place, "delta": delta}) for delta in _deltas(block))
        yield "contentBlockStop", place
    end = {name: answer[name] for name in ("stopReason", "additionalModelResponseFields") if name in answer}
    yield "messageStop", end
    names = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")
    yield "metadata", {name: answer[name] for name in names if name in answer}


def _deltas(block: Mapping[str, Any]) -> Iterator[JsonObject]:
    if "toolUse" in block:
        yield {"toolUse": {"input": json.dumps(block["toolUse"].get("input", {}))}}
    elif "reasoningContent" in block:
        thought = block["reasoningContent"]
        parts = thought.get("reasoningText") or thought
        names = ("text", "signature", "redactedContent")
        yield from ({"reasoningContent": {name: parts[name]}} for name in names if name in parts)
    elif "text" in block:
        yield {"text": block["text"]}


def _frame(kind: str, data: JsonObject) -> bytes:
    """One event as AWS frames it: lengths and a checksum, headers, data, a checksum of all.

    https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html describes the frame.
    """
    named = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in named.items()
    )
    payload = json.dumps(data, separators=(",", ":")).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))
