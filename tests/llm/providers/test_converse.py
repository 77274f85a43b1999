"""Bedrock's Converse: what is bounded, what an answer was billed for, and how AWS frames a stream."""

import json
from typing import Any

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.endpoints import FORMATS, endpoint_named
from ratiba_action.llm.providers.bounds import OutputLimits, bounded
from ratiba_action.llm.providers.client import ProviderRoute
from ratiba_action.money.answer_usage import answer_usage
from tests.support.live_calls import paid_request

CONVERSE = endpoint_named("converse")
USAGE = {"inputTokens": 30, "outputTokens": 9, "totalTokens": 39}
ANSWER = {"output": {"message": {"role": "assistant", "content": [{"text": "Karibu"}]}}, "stopReason": "end_turn"}
IMAGE = {"image": {"format": "png", "source": {"bytes": "aGVsbG8="}}}


def content(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(blocks)}]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"guardrailConfig": {"guardrailIdentifier": "g"}}, "guardrailConfig"),
        ({"promptVariables": {"a": {"text": "b"}}}, "promptVariables"),
        ({"serviceTier": {"type": "priority"}}, "serviceTier.type 'priority'"),
        ({"serviceTier": "priority"}, "serviceTier that is no object"),
        ({"performanceConfig": {"latency": "optimized"}}, "performanceConfig.latency 'optimized'"),
        ({"additionalModelRequestFields": {"max_tokens": 99_999}}, "additionalModelRequestFields.max_tokens"),
        ({"additionalModelRequestFields": {"anthropic_beta": ["x"]}}, "additionalModelRequestFields.anthropic_beta"),
        ({"inferenceConfig": {"late": 1}}, "inferenceConfig.late"),
        ({"inferenceConfig": {"maxTokens": 70_000}}, "maxTokens is not a whole number"),
        ({"toolConfig": {"tools": [{"systemTool": {"name": "nova_grounding"}}]}}, "the tool 'systemTool'"),
        ({"toolConfig": {"tools": {"toolSpec": {}}}}, "tools that are not a list"),
        (content({"document": {"format": "pdf", "source": {"bytes": "x"}}}), "content of type 'document'"),
        (content({"image": {"source": {"s3Location": {"uri": "s3://b/x"}}}}), "send the image itself"),
        (content({"toolResult": {"toolUseId": "1", "content": [{"video": {}}]}}), "content of type 'video'"),
        (content({"toolUse": {"toolUseId": "1", "name": "x", "type": "server_tool_use"}}), "'server_tool_use'"),
        ({"system": [{"guardContent": {"text": {"text": "x"}}}]}, "content of type 'guardContent'"),
    ],
)
def test_what_could_cost_more_is_refused_before_it_is_sent(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        bounded(paid_request("converse", **changes), OutputLimits())


def test_an_image_counts_as_the_largest_and_a_cache_point_as_text() -> None:
    plain = bounded(paid_request("converse", **content({"text": "Habari"})), OutputLimits(default=300))
    pictured = content({"text": "Habari"}, {"cachePoint": {"type": "default", "ttl": "1h"}}, IMAGE)
    work = bounded(paid_request("converse", **pictured), OutputLimits(default=300))
    assert 60_000 < work.input_tokens - plain.input_tokens < 60_300
    assert work.body["inferenceConfig"] == {"maxTokens": 300}


def test_prompt_caching_and_tiers_leave_no_trace_in_the_key() -> None:
    plain = {"model": "m", **content({"text": "Habari"}), "system": [{"text": "Be kind."}]}
    cached = {
        **plain, **content({"text": "Habari"}, {"cachePoint": {"type": "default"}}),
        "system": [{"text": "Be kind."}, {"cachePoint": {"type": "default"}}], "serviceTier": {"type": "flex"},
        "requestMetadata": {"team": "spa"},
    }  # fmt: skip
    assert CONVERSE.canonical(cached) == CONVERSE.canonical(plain)


@pytest.mark.parametrize(
    ("rest", "usage", "unexplained"),
    [
        ({}, {"cacheReadInputTokenCount": 3, "serverToolUsage": {}}, ""),
        ({"serviceTier": {"type": "flex"}, "performanceConfig": {"latency": "standard"}}, {}, ""),
        ({"serviceTier": {"type": "priority"}}, {}, "tier 'priority'"),
        ({"performanceConfig": {"latency": "optimized"}}, {}, "latency 'optimized'"),
        ({"trace": {"guardrail": {"actionReason": "x"}}}, {}, "a guardrail"),
        ({"trace": {"promptRouter": {"invokedModelId": "m"}}}, {}, "a router"),
        ({}, {"serverToolUsage": {"webSearch": 1}}, "tools of its own"),
        ({}, {"lateTokens": 7}, "'lateTokens'"),
    ],
)
def test_what_tokens_do_not_explain_is_reported(rest: dict[str, Any], usage: dict[str, Any], unexplained: str) -> None:
    reported = answer_usage(CONVERSE, {**ANSWER, **rest, "usage": {**USAGE, **usage}})
    assert bool(reported.unexplained) == bool(unexplained)
    assert unexplained in " ".join(reported.unexplained)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (USAGE, (30, 9, 0, 0)),
        ({**USAGE, "cacheReadInputTokens": 100, "totalTokens": 139}, (30, 9, 100, 0)),
        ({**USAGE, "cacheWriteInputTokens": 50, "totalTokens": 95}, (30, 15, 0, 50)),
    ],
)
def test_cached_tokens_stand_beside_the_input_and_the_total_is_booked(
    usage: dict[str, Any], tokens: tuple[int, ...]
) -> None:
    read = answer_usage(CONVERSE, {**ANSWER, "usage": usage}).usage
    assert (read.input_tokens, read.output_tokens, read.cache_read_tokens, read.cache_write_tokens) == tokens


def test_what_is_cached_for_an_hour_is_known() -> None:
    details = [{"ttl": "1h", "inputTokens": 20}, {"ttl": "5m", "inputTokens": 30}]
    usage = {**USAGE, "cacheWriteInputTokens": 50, "cacheDetails": details}
    assert answer_usage(CONVERSE, {**ANSWER, "usage": usage}).long_cache_writes == 20


def test_aws_reads_the_frames_of_a_stream() -> None:
    eventstream = pytest.importorskip("botocore.eventstream")
    thought = {"reasoningContent": {"reasoningText": {"text": "So", "signature": "s"}}}
    call = {"toolUse": {"toolUseId": "t1", "name": "book", "input": {"at": 14}}}
    answer = {**ANSWER, "output": {"message": {"content": [thought, {"text": "Karibu"}, call]}}, "usage": USAGE}
    buffer = eventstream.EventStreamBuffer()
    for piece in CONVERSE.stream({}, answer, {})[1]:
        buffer.add_data(piece)
    events = [(each.headers[":event-type"], json.loads(each.payload)) for each in buffer]
    assert [kind for kind, _ in events] == [
        "messageStart", "contentBlockDelta", "contentBlockDelta", "contentBlockStop", "contentBlockDelta",
        "contentBlockStop", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata",
    ]  # fmt: skip
    assert events[6][1]["start"] == {"toolUse": {"toolUseId": "t1", "name": "book"}}
    assert events[-1][1]["usage"] == USAGE


def test_the_key_is_a_bearer_and_the_model_is_a_part_of_the_address() -> None:
    base = FORMATS["converse"].base_url.format(region="eu-west-1")
    route = ProviderRoute("aws", "planted", base, "converse")
    address = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse"
    assert route.address("converse", "amazon.nova-pro-v1:0") == address
    assert route.headers() == {"Authorization": "Bearer planted"}
    assert "planted" not in repr(route)


@pytest.mark.parametrize("model", ["arn:aws:bedrock:eu-west-1:1:inference-profile/ours", "", "a b", "../x"])
def test_an_arn_is_no_model(model: str) -> None:
    assert CONVERSE.flaw({"model": model, **content({"text": "Habari"})})
