"""Live answers become recordings that replay the same conversation for nothing."""

import asyncio

import pytest

from ratiba_action.errors import ProviderError
from ratiba_action.llm.answers import AnswerRecorder, LiveAnswers
from ratiba_action.llm.chain import AnswerChain
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.ports import AnswerSource
from tests.llm.conftest import Start
from tests.support.live_calls import KEY, live_calls
from tests.support.provider_faults import Failure
from tests.support.sdk_talk import SdkTalk, texts


class LastFirst:
    """Lets the answers of so many calls go in the opposite order of the questions."""

    def __init__(self, answers: AnswerSource, calls: int) -> None:
        self._answers = answers
        self._turns = [asyncio.Event() for _ in range(calls)]
        self._turns[-1].set()

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        await self._turns[request.position].wait()
        answer = await self._answers.answer(request)
        if request.position:
            self._turns[request.position - 1].set()
        return answer


def recording(live: AnswerSource) -> tuple[AnswerRecorder, AnswerChain[ModelRequest, ModelAnswer]]:
    recorder = AnswerRecorder()
    chain: AnswerChain[ModelRequest, ModelAnswer] = AnswerChain(lambda *_: None, keep=recorder.keep)
    chain.add("head", live=live.answer)
    return recorder, chain


async def test_what_was_recorded_live_is_replayed_word_for_word(start_gateway: Start, start_replay: Start) -> None:
    script = [Step("any", text=text) for text in ("Karibu!", "Karibu tena!", '{"intent": "book"}')]
    async with live_calls(script) as rig:
        answers, chain = recording(LiveAnswers(rig.calls))
        gateway = await start_gateway(chain)
        with gateway.open_scenario("spa") as access:
            talk = SdkTalk(access.environment)
            live = [texts(await talk.message()), texts(await talk.streamed_message())]
            completion = await talk.completion()
    lines = answers.recordings("spa")
    assert [(line.source, line.ordinal, line.provider) for line in lines] == [
        ("live", 0, "anthropic"),
        ("live", 1, "anthropic"),
        ("live", 0, "openai"),
    ]
    assert KEY not in repr([line.response for line in lines])
    gateway = await start_replay(spa=lines)
    with gateway.open_scenario("spa") as access:
        talk = SdkTalk(access.environment)
        assert [texts(await talk.streamed_message()), texts(await talk.message())] == live
        assert (await talk.completion()).to_dict() == completion.to_dict()
        assert access.problems == ()


async def test_lines_stand_in_the_order_of_the_questions_whichever_answer_came_first(start_gateway: Start) -> None:
    async with live_calls(lambda received: Step("any", text=received.body["messages"][0]["content"])) as rig:
        answers, chain = recording(LastFirst(LiveAnswers(rig.calls), calls=4))
        gateway = await start_gateway(chain)
        with gateway.open_scenario("spa") as access:
            talk = SdkTalk(access.environment)
            await asyncio.gather(*(talk.message(f"question {number}") for number in range(4)))
        asked_last_first = [received.body["messages"][0]["content"] for received in rig.server.received]
    lines = answers.recordings("spa")
    assert [line.asked for line in lines] == asked_last_first[::-1]
    assert [line.response["content"][0]["text"] for line in lines] == [line.asked for line in lines]


async def test_trials_are_kept_apart_and_a_failed_call_leaves_no_line(start_gateway: Start) -> None:
    async with live_calls([Step("any", text="zero"), Failure(400, "no"), Step("any", text="one")]) as rig:
        answers, chain = recording(LiveAnswers(rig.calls))
        gateway = await start_gateway(chain)
        with gateway.open_scenario("spa", 0) as first:
            await SdkTalk(first.environment).message()
        with gateway.open_scenario("spa", 1) as second:
            with pytest.raises(Exception, match="status 400"):
                await SdkTalk(second.environment).message()
            await SdkTalk(second.environment).message("again")
        assert isinstance(second.problems[0], ProviderError)
    replies = [
        [line.response["content"][0]["text"] for line in answers.recordings("spa", trial)] for trial in (0, 1, 2)
    ]
    assert replies == [["zero"], ["one"], []]
