"""Recordings written by hand: a script answers in order, and what was asked is kept."""

import json

import anthropic
import openai
import pytest

from ratiba_action.errors import RecordingError
from ratiba_action.llm.recordings.reader import parse_recordings
from ratiba_action.llm.recordings.writer import render_recordings
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import ToolCall, Usage
from tests.llm.conftest import Start
from tests.support.scripted_answers import ScriptedAnswers
from tests.support.sdk_talk import SYSTEM, SdkTalk

TOOLS = (ToolCall("check_availability", {"service": "massage"}), ToolCall("hand_off", {"reason": "maumivu"}))


async def test_a_recording_says_what_was_asked_and_that_it_was_authored(start_gateway: Start) -> None:
    answers = ScriptedAnswers({"spa": [Step("anthropic", text="Karibu!", usage=Usage(100, 7))]})
    gateway = await start_gateway(answers)
    with gateway.open_scenario("spa") as access:
        message = await SdkTalk(access.environment).message("Habari, " + "a" * 300)
    (line,) = answers.recordings("spa")
    assert (line.source, line.provider, line.model, line.ordinal) == ("authored", "anthropic", "claude-haiku-4-5", 0)
    assert line.asked == ("Habari, " + "a" * 300)[:200]
    assert line.response["id"] == message.id
    assert (message.usage.input_tokens, message.usage.output_tokens, line.usage_estimated) == (100, 7, False)
    assert parse_recordings(render_recordings([line]), "spa.jsonl") == (line,)
    assert answers.unused("spa") == 0


async def test_usage_that_is_not_given_is_estimated_and_flagged(start_gateway: Start) -> None:
    answers = ScriptedAnswers({"spa": [Step("openai", text="x" * 401)]})
    gateway = await start_gateway(answers)
    with gateway.open_scenario("spa") as access:
        completion = await SdkTalk(access.environment).completion()
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 101
    assert completion.usage.prompt_tokens >= len(SYSTEM) / 4
    assert answers.recordings("spa")[0].usage_estimated


async def test_the_same_script_makes_the_same_bytes(start_gateway: Start) -> None:
    rendered = []
    for _ in range(2):
        answers = ScriptedAnswers({"spa": [Step("openai", tools=TOOLS), Step("anthropic", tools=TOOLS)]})
        gateway = await start_gateway(answers)
        with gateway.open_scenario("spa") as access:
            talk = SdkTalk(access.environment)
            await talk.response()
            await talk.message()
        rendered.append(render_recordings(answers.recordings("spa")))
    assert rendered[0] == rendered[1]


async def test_each_tool_call_has_an_id_of_its_own_and_its_arguments(start_gateway: Start) -> None:
    steps = [Step("openai", tools=TOOLS), Step("openai", tools=TOOLS)]
    gateway = await start_gateway(ScriptedAnswers({"spa": steps}))
    with gateway.open_scenario("spa") as access:
        talk = SdkTalk(access.environment)
        completions = [await talk.completion(), await talk.completion()]
    calls = [call for each in completions for call in each.choices[0].message.tool_calls or []]
    made = [(call.function.name, json.loads(call.function.arguments)) for call in calls if call.type == "function"]
    assert made == [(tool.name, tool.args) for tool in TOOLS] * 2
    assert len({call.id for call in calls}) == 4
    assert {each.choices[0].finish_reason for each in completions} == {"tool_calls"}


async def test_a_script_at_its_end_says_so(start_gateway: Start) -> None:
    gateway = await start_gateway(ScriptedAnswers({"spa": [Step("anthropic", text="Karibu!")]}))
    with gateway.open_scenario("spa") as access:
        await SdkTalk(access.environment).message()
        with pytest.raises(anthropic.BadRequestError, match="no answer to call 2 of scenario 'spa': it has 1 step"):
            await SdkTalk(access.environment).message()
    assert isinstance(access.problems[0], RecordingError)


async def test_a_step_for_the_other_provider_is_not_given_away(start_gateway: Start) -> None:
    answers = ScriptedAnswers({"spa": [Step("anthropic", text="Karibu!")]})
    gateway = await start_gateway(answers)
    with gateway.open_scenario("spa") as access, pytest.raises(openai.BadRequestError, match="for 'anthropic', and"):
        await SdkTalk(access.environment).completion()
    assert answers.unused("spa") == 1


async def test_an_embedding_cannot_be_scripted(start_gateway: Start) -> None:
    gateway = await start_gateway(ScriptedAnswers({"spa": [Step("openai", text="Karibu!")]}))
    with gateway.open_scenario("spa") as access, pytest.raises(openai.BadRequestError, match="cannot be scripted"):
        await SdkTalk(access.environment).embedding()
