"""Recordings as long as they fit, models from there on, each conversation by itself."""

import dataclasses

import pytest

from ratiba_action.errors import BudgetError, ConfigurationError
from ratiba_action.llm.answers import LiveAnswers
from ratiba_action.llm.chain import AnswerChain
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.llm.server import Gateway
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import AnswerSource
from tests.llm.conftest import Record, Replay, Start
from tests.support.live_calls import live_calls
from tests.support.sdk_talk import SdkTalk, texts

LIVE = Step("anthropic", text="live")


def fallback(recorded: AnswerSource, live: LiveAnswers) -> AnswerChain[ModelRequest, ModelAnswer]:
    chain: AnswerChain[ModelRequest, ModelAnswer] = AnswerChain(lambda *_: None, stays_live=True)
    chain.add("head", recorded=recorded.answer, live=live.answer)
    return chain


async def thrice(talk: SdkTalk) -> None:
    for text in ("one", "two", "three"):
        await talk.message(text)


async def ask(gateway: Gateway, *words: str, trial: int = 0) -> list[str]:
    with gateway.open_scenario("spa", trial) as access:
        talk = SdkTalk(access.environment)
        answers = [texts(await talk.message(text))[0] for text in words]
        assert access.problems == ()
    return answers


async def recorded(record: Record) -> tuple[ModelRecording, ...]:
    return await record([Step("anthropic", text=f"recorded {number}") for number in (1, 2, 3)], thrice)


async def test_a_conversation_whose_recordings_fit_asks_no_model(
    record: Record, replay: Replay, start_gateway: Start, ledger: Ledger
) -> None:
    async with live_calls([]) as rig:
        answers = fallback(replay(spa=await recorded(record)), LiveAnswers(rig.calls))
        replies = await ask(await start_gateway(answers), "one", "two", "three")
        assert replies == ["recorded 1", "recorded 2", "recorded 3"]
        assert not answers.went_live("spa")
        assert rig.reservations.done == ()
        assert len(ledger.calls) == 3


async def test_a_conversation_that_left_its_recordings_does_not_come_back_to_them(
    record: Record, replay: Replay, start_gateway: Start
) -> None:
    async with live_calls([LIVE, LIVE]) as rig:
        answers = fallback(replay(spa=await recorded(record)), LiveAnswers(rig.calls))
        gateway = await start_gateway(answers)
        assert await ask(gateway, "one", "changed", "three") == ["recorded 1", "live", "live"]
        assert answers.went_live("spa")
        assert rig.paid_enough()


async def test_another_trial_of_it_starts_with_its_own_recordings_again(
    record: Record, replay: Replay, start_gateway: Start
) -> None:
    async with live_calls([LIVE]) as rig:
        lines = await recorded(record)
        lines += tuple(dataclasses.replace(line, trial=1) for line in lines)
        answers = fallback(replay(spa=lines), LiveAnswers(rig.calls))
        gateway = await start_gateway(answers)
        assert await ask(gateway, "changed") == ["live"]
        assert await ask(gateway, "one", trial=1) == ["recorded 1"]
        assert answers.went_live("spa")


async def test_a_trial_of_which_nothing_is_recorded_is_asked_of_a_model(
    record: Record, replay: Replay, start_gateway: Start
) -> None:
    async with live_calls([LIVE]) as rig:
        answers = fallback(replay(spa=await recorded(record)), LiveAnswers(rig.calls))
        gateway = await start_gateway(answers)
        assert await ask(gateway, "one", trial=1) == ["live"]
        assert await ask(gateway, "one") == ["recorded 1"]
        assert answers.went_live("spa")


async def test_only_a_missing_recording_leads_to_a_model(start_gateway: Start) -> None:
    class Refuses:
        def __init__(self, error: Exception) -> None:
            self._error = error

        async def answer(self, _request: object) -> None:
            raise self._error

    async with live_calls([LIVE]) as rig:
        for error in (BudgetError("no money"), ConfigurationError("no price")):
            answers = fallback(Refuses(error), LiveAnswers(rig.calls))  # type: ignore[arg-type]
            gateway = await start_gateway(answers)
            with gateway.open_scenario("spa") as access, pytest.raises(Exception, match=str(error)):
                await SdkTalk(access.environment).message()
            assert access.problems == (error,)
        assert rig.server.received == ()
