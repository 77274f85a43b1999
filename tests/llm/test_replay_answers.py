"""Replay against recordings that were not made by a script: embeddings, broken shapes, a missing price."""

import dataclasses
from decimal import Decimal
from typing import Any

import anthropic
import openai
import pytest

from ratiba_action.errors import ConfigurationError, RecordingError
from ratiba_action.llm.answers import ReplayAnswers
from ratiba_action.llm.canonical_request import prompt_digest, request_key
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.money.budget import Ledger
from ratiba_action.money.prices import PriceList
from tests.llm.conftest import Record, Start
from tests.support.sdk_talk import EMBEDDER, SdkTalk

GREETING = Step("anthropic", text="Karibu!")


async def test_an_embedding_is_replayed(start_replay: Start) -> None:
    asked = {"model": EMBEDDER, "input": "Habari", "encoding_format": "float"}
    vector = {"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}
    answer = {
        "object": "list",
        "data": [vector],
        "model": EMBEDDER,
        "usage": {"prompt_tokens": 2, "total_tokens": 2},
    }
    key = request_key(endpoint_named("embeddings"), asked)
    line = ModelRecording(key, 0, "authored", "openai", EMBEDDER, "Habari", prompt_digest(""), answer)
    gateway = await start_replay(spa=[line])
    with gateway.open_scenario("spa") as access:
        embedding = await SdkTalk(access.environment).embedding()
    assert embedding.data[0].embedding == [0.25, -0.5]


@pytest.mark.parametrize("content", [5, [5], {"a": 1}, [{"type": "text", "text": 5}, None]])
async def test_a_recorded_answer_of_a_broken_shape_is_an_error_and_not_half_a_stream(
    content: object, record: Record, start_replay: Start
) -> None:
    (line,) = await record([GREETING], lambda talk: talk.message())
    broken = dataclasses.replace(line, response={**line.response, "content": content})
    gateway = await start_replay(spa=[broken])
    with gateway.open_scenario("spa") as access, pytest.raises(anthropic.BadRequestError, match="cannot be streamed"):
        await SdkTalk(access.environment).streamed_message()
    assert isinstance(access.problems[0], RecordingError)


@pytest.mark.parametrize("choices", [5, [None], [{"message": 5}], [{"message": {"tool_calls": [1]}}]])
async def test_so_is_one_of_openai(choices: object, record: Record, start_replay: Start) -> None:
    (line,) = await record([Step("openai", text="{}")], lambda talk: talk.completion())
    broken = dataclasses.replace(line, response={**line.response, "choices": choices})
    gateway = await start_replay(spa=[broken])
    with gateway.open_scenario("spa") as access, pytest.raises(openai.BadRequestError, match="cannot be streamed"):
        await SdkTalk(access.environment).streamed_completion()
    assert len(access.problems) == 1


async def test_a_thinking_block_is_streamed_with_its_signature(record: Record, start_replay: Start) -> None:
    (line,) = await record([GREETING], lambda talk: talk.message())
    thought: dict[str, Any] = {"type": "thinking", "thinking": "Saa nane ni 14:00.", "signature": "c2lnbmVk"}
    hidden = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    thinking = dataclasses.replace(
        line, response={**line.response, "content": [thought, hidden, *line.response["content"]]}
    )
    gateway = await start_replay(spa=[thinking])
    with gateway.open_scenario("spa") as access:
        message = await SdkTalk(access.environment).streamed_message()
    assert [block.to_dict() for block in message.content][:2] == [thought, hidden]


async def test_a_recorded_model_without_a_price_is_an_error_and_not_free(record: Record, start_gateway: Start) -> None:
    (line,) = await record([GREETING], lambda talk: talk.message())
    ledger = Ledger(Decimal(1))
    answers = ReplayAnswers({"spa": [dataclasses.replace(line, model="claude-unpriced")]}, ledger, PriceList())
    gateway = await start_gateway(answers)
    with gateway.open_scenario("spa") as access, pytest.raises(anthropic.APIStatusError, match="No price is known"):
        await SdkTalk(access.environment).message()
    assert isinstance(access.problems[0], ConfigurationError)
    assert ledger.calls == ()
