"""A scripted scenario is answered from its script, whatever else the run asks."""

from dataclasses import replace
from decimal import Decimal

import anthropic
import pytest

from ratiba_action.errors import RecordingError
from ratiba_action.llm.answers import ReplayAnswers
from ratiba_action.llm.chain import AnswerChain
from ratiba_action.llm.scripted_answers import ScenarioScripts, scripts_of
from ratiba_action.llm.server import Gateway
from ratiba_action.model.conversation import AnsweredCalls
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.money.budget import Ledger
from ratiba_action.money.prices import PriceList
from tests.llm.conftest import Start
from tests.support.sample_report import sample_scenario
from tests.support.sdk_talk import SdkTalk

SCRIPTED = replace(
    sample_scenario("spa"),
    script=(
        {"provider": None, "text": "Karibu!", "data": None, "tools": []},
        {"provider": "openai", "text": None, "data": {"intent": "book"}, "tools": []},
    ),
)


def _unlogged(_request: ModelRequest, _answer: ModelAnswer) -> None:
    """Nobody reads events here."""


async def scripted(start_gateway: Start, ledger: Ledger) -> Gateway:
    prices = PriceList({})
    scripts = scripts_of([SCRIPTED, sample_scenario("other")])
    answers = AnswerChain(_unlogged, scripted=ScenarioScripts(scripts).source)
    answers.add("head", recorded=ReplayAnswers({}, ledger, prices).answer)
    return await start_gateway(answers, prices=prices, scripts={name: len(steps) for name, steps in scripts.items()})


def _text(message: anthropic.types.Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


async def test_the_steps_come_in_order_and_nothing_is_booked(start_gateway: Start) -> None:
    ledger = Ledger(Decimal(1))
    gateway = await scripted(start_gateway, ledger)
    with gateway.open_scenario("spa") as access:
        talk = SdkTalk(access.environment)
        first, second = await talk.message(), await talk.completion()
    assert _text(first) == "Karibu!"
    assert second.choices[0].message.content == '{"intent": "book"}'
    assert (access.problems, ledger.calls) == ((), ())
    calls = access.calls
    assert calls == AnsweredCalls(count=2, replayed=2, usd=None, usage=calls.usage)
    assert calls.usage.input_tokens > 0


async def test_a_trial_that_is_held_again_starts_its_script_anew(start_gateway: Start) -> None:
    gateway = await scripted(start_gateway, Ledger(Decimal(1)))
    for _ in range(2):
        with gateway.open_scenario("spa") as access:
            assert _text(await SdkTalk(access.environment).message()) == "Karibu!"


async def test_a_script_that_is_too_short_is_reported(start_gateway: Start) -> None:
    gateway = await scripted(start_gateway, Ledger(Decimal(1)))
    with gateway.open_scenario("spa") as access:
        talk = SdkTalk(access.environment)
        await talk.message()
        await talk.completion()
        with pytest.raises(anthropic.BadRequestError, match="it has 2 steps"):
            await talk.message()
    assert [type(problem) for problem in access.problems] == [RecordingError]


async def test_steps_that_are_left_over_are_reported_once(start_gateway: Start) -> None:
    gateway = await scripted(start_gateway, Ledger(Decimal(1)))
    with gateway.open_scenario("spa") as access:
        await SdkTalk(access.environment).message()
    access.close()
    (problem,) = access.problems
    assert "asked for 1 of 2 steps of the script of scenario 'spa'" in str(problem)


async def test_another_scenario_is_answered_elsewhere(start_gateway: Start) -> None:
    gateway = await scripted(start_gateway, Ledger(Decimal(1)))
    with (
        gateway.open_scenario("other") as access,
        pytest.raises(anthropic.BadRequestError, match="No model answer is recorded"),
    ):
        await SdkTalk(access.environment).message()
