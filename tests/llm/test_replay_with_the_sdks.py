"""Both providers' own SDKs, pointed at the gateway by nothing but the variables that it gives out."""

import asyncio
import dataclasses
import json
from decimal import Decimal
from typing import Any

import anthropic
import openai
import pytest
from openai.types.chat import ChatCompletion

from ratiba_action.errors import ConfigurationError, RecordingError
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Party, ToolCall
from ratiba_action.money.budget import Ledger
from tests.llm.conftest import Record, Replay, Start
from tests.support.sdk_talk import GPT, HAIKU, SdkTalk, texts, tool_uses

CHECK = ToolCall("check_availability", {"service": "massage", "start": "2026-04-26T14:00:00+03:00"})
GREETING = Step("anthropic", text="Karibu sana!")
LOOK_UP = Step("anthropic", text="Naangalia…", tools=(CHECK,))
INTENT = Step("openai", data={"intent": "book"})


async def three_calls(talk: SdkTalk) -> None:
    await talk.message()
    await talk.message("Massage kesho saa nane")
    await talk.completion()


async def test_text_tool_use_and_schema_bound_output_come_back_as_recorded(record: Record, start_replay: Start) -> None:
    gateway = await start_replay(spa=await record([GREETING, LOOK_UP, INTENT], three_calls))
    with gateway.open_scenario("spa") as access:
        talk = SdkTalk(access.environment)
        greeting, look_up, intent = (
            await talk.message(),
            await talk.message("Massage kesho saa nane"),
            await talk.completion(),
        )
    assert (texts(greeting), greeting.stop_reason) == (["Karibu sana!"], "end_turn")
    assert (tool_uses(look_up), look_up.stop_reason) == ([(CHECK.name, CHECK.args)], "tool_use")
    assert json.loads(intent.choices[0].message.content or "") == {"intent": "book"}
    assert access.problems == ()
    assert access.models == (HAIKU, GPT)


def function_calls(completion: ChatCompletion) -> list[tuple[str, str, str]]:
    calls = completion.choices[0].message.tool_calls or []
    return [(call.id, call.function.name, call.function.arguments) for call in calls if call.type == "function"]


async def test_a_stream_says_what_the_whole_answer_says(record: Record, start_replay: Start) -> None:
    async def calls(talk: SdkTalk) -> None:
        await talk.message()
        await talk.completion()
        await talk.response()

    called = Step("openai", text="Sawa", tools=(CHECK,))
    gateway = await start_replay(spa=await record([LOOK_UP, called, called], calls))
    with gateway.open_scenario("spa") as whole_access, gateway.open_scenario("spa") as stream_access:
        whole, stream = SdkTalk(whole_access.environment), SdkTalk(stream_access.environment)
        messages = (await whole.message(), await stream.streamed_message())
        completions = (await whole.completion(), await stream.streamed_completion())
        responses = (await whole.response(), await stream.streamed_response())
    assert texts(messages[0]) == texts(messages[1]) == ["Naangalia…"]
    assert tool_uses(messages[0]) == tool_uses(messages[1]) == [(CHECK.name, CHECK.args)]
    assert messages[0].stop_reason == messages[1].stop_reason == "tool_use"
    assert messages[0].usage.output_tokens == messages[1].usage.output_tokens
    assert function_calls(completions[0]) == function_calls(completions[1]) != []
    assert completions[0].choices[0].message.content == completions[1].choices[0].message.content == "Sawa"
    assert completions[0].usage == completions[1].usage
    assert responses[0].output_text == responses[1].output_text == "Sawa"
    assert [item.type for item in responses[1].output] == ["message", "function_call"]
    assert responses[0].usage == responses[1].usage


async def test_a_stream_and_a_whole_answer_share_one_recording(record: Record, start_replay: Start) -> None:
    recordings = await record([GREETING], lambda talk: talk.streamed_message())
    gateway = await start_replay(spa=recordings)
    with gateway.open_scenario("spa") as access:
        assert texts(await SdkTalk(access.environment).message()) == ["Karibu sana!"]


async def test_the_same_question_asked_again_gets_its_next_answer(record: Record, start_replay: Start) -> None:
    async def twice(talk: SdkTalk) -> None:
        await talk.message()
        await talk.message()

    recordings = await record([GREETING, Step("anthropic", text="Karibu tena!")], twice)
    assert [line.ordinal for line in recordings] == [0, 1]
    gateway = await start_replay(spa=recordings)
    with gateway.open_scenario("spa") as access:
        talk = SdkTalk(access.environment)
        answers = [texts(await talk.message()), texts(await talk.message())]
    assert answers == [["Karibu sana!"], ["Karibu tena!"]]


async def test_each_trial_is_answered_with_what_was_recorded_of_it(record: Record, start_replay: Start) -> None:
    first, second = [
        await record([Step("anthropic", text=text)], lambda talk: talk.message()) for text in ("Karibu!", "Sawa!")
    ]
    gateway = await start_replay(spa=[*first, *(dataclasses.replace(line, trial=1) for line in second)])
    for trial, words in ((1, "Sawa!"), (0, "Karibu!")):
        with gateway.open_scenario("spa", trial) as access:
            assert texts(await SdkTalk(access.environment).message()) == [words]


async def test_a_trial_of_which_nothing_is_recorded_is_never_answered_with_anothers(
    record: Record, start_replay: Start
) -> None:
    gateway = await start_replay(spa=await record([GREETING], lambda talk: talk.message()))
    with gateway.open_scenario("spa", 1) as access, pytest.raises(anthropic.BadRequestError, match="1 trial is"):
        await SdkTalk(access.environment).message()
    (problem,) = access.problems
    assert "This is trial 2 of the scenario, and 1 trial is recorded" in str(problem)


async def test_two_scenarios_at_once_with_the_same_request_get_each_their_own_answer(
    record: Record, ledger: Ledger, start_replay: Start
) -> None:
    spa = await record([GREETING], lambda talk: talk.message())
    salon = await record([Step("anthropic", text="Salon hapa!")], lambda talk: talk.message())
    assert spa[0].key == salon[0].key
    gateway = await start_replay(spa=spa, salon=salon)
    with gateway.open_scenario("spa") as one, gateway.open_scenario("salon") as other:
        asked = [SdkTalk(access.environment).message() for access in (one, other)]
        answers = [texts(message) for message in await asyncio.gather(*asked)]
    assert answers == [["Karibu sana!"], ["Salon hapa!"]]
    assert {call.scenario_id for call in ledger.calls} == {"spa", "salon"}


async def test_replayed_calls_cost_nothing_and_are_booked_at_list_price(
    record: Record, ledger: Ledger, start_replay: Start
) -> None:
    gateway = await start_replay(spa=await record([GREETING, LOOK_UP, INTENT], three_calls))
    with gateway.open_scenario("spa", party=Party.SIMULATOR) as access:
        await three_calls(SdkTalk(access.environment))
    spending = ledger.snapshot()
    assert (spending.spent, spending.live_calls, spending.replayed_calls) == (Decimal(0), 0, 3)
    expected = sum(call.usage.input_tokens + 10 * call.usage.output_tokens for call in ledger.calls)
    assert spending.list_price * 1_000_000 == expected > 0
    assert {call.party for call in ledger.calls} == {Party.SIMULATOR}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"system": "Be rude."}, "Line 1 of the system prompt changed and is now 'Be rude.'"),
        (
            {"messages": [{"role": "user", "content": "Kwaheri"}]},
            "The customer's message to the model changed ('Habari' → 'Kwaheri')",
        ),
    ],
)
async def test_a_request_whose_content_alone_differs_is_answered_by_the_call_in_its_place_and_says_so(
    change: dict[str, Any], words: str, record: Record, start_replay: Start
) -> None:
    gateway = await start_replay(spa=await record([GREETING], lambda talk: talk.message()))
    with gateway.open_scenario("spa") as access:
        assert texts(await SdkTalk(access.environment).message(**change)) == ["Karibu sana!"]
    assert words in str(access.stale)
    assert access.problems == ()
    assert access.calls.count == 0, "it is no replayed call: this was never asked"


async def test_a_call_that_was_added_gets_no_other_calls_answer(record: Record, start_replay: Start) -> None:
    steps = [GREETING, Step("anthropic", text="Kwaheri!")]
    bye: dict[str, Any] = {"messages": [{"role": "user", "content": "Kwaheri"}]}

    async def twice(talk: SdkTalk) -> None:
        await talk.message()
        await talk.message(**bye)

    gateway = await start_replay(spa=await record(steps, twice))
    with gateway.open_scenario("spa") as access:
        talk = SdkTalk(access.environment)
        assert texts(await talk.message()) == ["Karibu sana!"]
        assert texts(await talk.message(**bye)) == ["Kwaheri!"]
        with pytest.raises(anthropic.BadRequestError, match="model call 3 of the scenario, and 2 are recorded"):
            await talk.message(messages=[{"role": "user", "content": "Bado?"}])
    assert access.stale is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "claude-opus-5-5"}, "The system calls the model 'claude-opus-5-5' where 'claude-haiku-4-5' was"),
        ({"max_tokens": 300}, "The parameter max_tokens changed (200 → 300)"),
    ],
)
async def test_a_request_to_another_model_or_with_other_parameters_says_what_differs_and_is_not_retried(
    change: dict[str, Any], words: str, record: Record, start_replay: Start
) -> None:
    gateway = await start_replay(spa=await record([GREETING], lambda talk: talk.message()))
    with (
        gateway.open_scenario("spa") as access,
        pytest.raises(anthropic.BadRequestError, match="ratiba record --scenario spa --accept") as caught,
    ):
        await SdkTalk(access.environment).message(**change)
    assert words in caught.value.message
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert [type(problem) for problem in access.problems] == [RecordingError]
    assert words in str(access.problems[0])


async def test_a_call_beyond_the_recorded_ones_says_so_in_the_other_providers_shape_too(
    record: Record, start_replay: Start
) -> None:
    gateway = await start_replay(spa=await record([GREETING], lambda talk: talk.message()))
    with gateway.open_scenario("spa") as access:
        talk = SdkTalk(access.environment)
        await talk.message()
        with pytest.raises(openai.BadRequestError, match="model call 2 of the scenario, and 1 are recorded"):
            await talk.completion()
    assert len(access.problems) == 1


async def test_a_scenario_without_recordings_says_so(start_replay: Start) -> None:
    gateway = await start_replay()
    with (
        gateway.open_scenario("spa") as access,
        pytest.raises(
            openai.BadRequestError,
            match=r"No model answer is recorded for this scenario.*mock the model",
        ),
    ):
        await SdkTalk(access.environment).response()


async def test_a_problem_is_kept_even_when_the_system_swallows_the_error(start_replay: Start) -> None:
    gateway = await start_replay()
    with gateway.open_scenario("spa") as access:
        outcomes = await asyncio.gather(SdkTalk(access.environment).message(), return_exceptions=True)
    assert isinstance(outcomes[0], anthropic.BadRequestError)
    assert isinstance(access.problems[0], RecordingError)


@pytest.mark.parametrize("judge", ["claude-haiku-4-5", "claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5"])
async def test_the_judges_model_is_refused_to_the_system_however_it_is_spelled(
    judge: str, record: Record, replay: Replay, start_gateway: Start
) -> None:
    recordings = await record([GREETING], lambda talk: talk.message())
    gateway = await start_gateway(replay(spa=recordings), forbidden_models=[judge])
    with (
        gateway.open_scenario("spa") as access,
        pytest.raises(anthropic.PermissionDeniedError, match="no model may judge its own output"),
    ):
        await SdkTalk(access.environment).message(model=HAIKU)
    assert isinstance(access.problems[0], ConfigurationError)
    assert access.models == ()


async def test_another_model_than_the_judges_is_let_through(
    record: Record, replay: Replay, start_gateway: Start
) -> None:
    recordings = await record([GREETING], lambda talk: talk.message())
    gateway = await start_gateway(replay(spa=recordings), forbidden_models=[GPT, "claude-haiku-4"])
    with gateway.open_scenario("spa") as access:
        assert texts(await SdkTalk(access.environment).message()) == ["Karibu sana!"]
