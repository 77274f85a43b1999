"""Any source of answers may stand behind the gateway; what it refuses reaches system and runner."""

import asyncio

import anthropic
import openai
import pytest

from ratiba_action.errors import BudgetError, RecordingError
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from tests.llm.conftest import Start
from tests.support.scripted_answers import scripted_body
from tests.support.sdk_talk import SYSTEM, SdkTalk, texts


class OutOfMoney:
    async def answer(self, request: ModelRequest) -> ModelAnswer:
        raise BudgetError(f"A call to {request.model!r} may cost $2.00 of $1.00.", "Raise the cap.")


class WaitsForAll:
    """Answers nobody before everybody has asked."""

    def __init__(self, callers: int) -> None:
        self.asked: list[ModelRequest] = []
        self._together = asyncio.Barrier(callers)

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        self.asked.append(request)
        await self._together.wait()
        step = Step("anthropic", text=f"{request.scenario_id} {request.trial} {request.ordinal}")
        usage = Usage(1, 1)
        return ModelAnswer(scripted_body(request, step, usage), usage, replayed=False)


async def test_a_refused_budget_is_an_error_that_no_sdk_retries(start_gateway: Start) -> None:
    gateway = await start_gateway(OutOfMoney())
    with gateway.open_scenario("spa") as access:
        talk = SdkTalk(access.environment)
        async with talk.anthropic(max_retries=3) as client:
            with pytest.raises(anthropic.BadRequestError, match="Raise the cap"):
                await client.messages.create(
                    model="claude-haiku-4-5", max_tokens=5, messages=[{"role": "user", "content": "Habari"}]
                )
        async with talk.openai(max_retries=3) as other:
            with pytest.raises(openai.BadRequestError, match="Raise the cap"):
                await other.responses.create(model="gpt-5.2", input="Habari")
    assert [type(problem) for problem in access.problems] == [BudgetError, BudgetError]
    assert access.models == ()


async def test_calls_in_flight_at_once_keep_their_scenario_trial_and_ordinal_apart(start_gateway: Start) -> None:
    answers = WaitsForAll(callers=6)
    gateway = await start_gateway(answers)
    accesses = [gateway.open_scenario(name, trial) for name, trial in (("spa", 0), ("spa", 1), ("salon", 0))]
    calls = [SdkTalk(access.environment).message() for access in accesses for _ in range(2)]
    replies = [texts(message)[0] for message in await asyncio.gather(*calls)]
    assert sorted(replies) == ["salon 0 0", "salon 0 1", "spa 0 0", "spa 0 1", "spa 1 0", "spa 1 1"]
    assert [text[:-2] for text in replies] == ["spa 0", "spa 0", "spa 1", "spa 1", "salon 0", "salon 0"]
    assert len({request.key for request in answers.asked}) == 1


async def test_a_source_is_reported_who_asks_what(start_gateway: Start) -> None:
    answers = WaitsForAll(callers=1)
    gateway = await start_gateway(answers)
    with gateway.open_scenario("spa", 3, party=Party.SIMULATOR) as access:
        await SdkTalk(access.environment).message("Habari")
        await SdkTalk(access.environment).message("Kesho")
    second = answers.asked[1]
    assert (second.scenario_id, second.trial, second.party) == ("spa", 3, Party.SIMULATOR)
    assert (second.provider, second.endpoint, second.model) == ("anthropic", "messages", "claude-haiku-4-5")
    assert (second.position, second.ordinal, second.last_message) == (1, 0, "Kesho")
    assert second.body["system"] == SYSTEM


async def test_a_call_that_the_source_refuses_does_not_close_the_access(start_gateway: Start) -> None:
    class OnceEmpty(WaitsForAll):
        async def answer(self, request: ModelRequest) -> ModelAnswer:
            if request.position == 0:
                raise RecordingError("nothing here")
            return await super().answer(request)

    gateway = await start_gateway(OnceEmpty(callers=1))
    with gateway.open_scenario("spa") as access:
        with pytest.raises(anthropic.BadRequestError, match="nothing here"):
            await SdkTalk(access.environment).message()
        assert texts(await SdkTalk(access.environment).message()) == ["spa 0 1"]
    assert len(access.problems) == 1
