from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from decimal import Decimal
from typing import Any

import pytest

from ratiba_action.llm.answers import ReplayAnswers
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.llm.server import Gateway
from ratiba_action.money.budget import Ledger
from ratiba_action.money.prices import PriceList
from ratiba_action.money.pricing import ModelRates
from ratiba_action.ports import AnswerSource
from tests.support.scripted_answers import ScriptedAnswers
from tests.support.sdk_talk import EMBEDDER, GPT, HAIKU, SdkTalk, Talk

Start = Callable[..., Awaitable[Gateway]]
Record = Callable[[Sequence[Step], Talk], Awaitable[tuple[ModelRecording, ...]]]
Replay = Callable[..., ReplayAnswers]


@pytest.fixture
async def start_gateway() -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:

        async def start(
            answers: AnswerSource, forbidden_models: Sequence[str] = (), body_limit: int = 100_000, **options: Any
        ) -> Gateway:
            gateway = Gateway(answers, forbidden_models=forbidden_models, body_limit=body_limit, **options)
            await gateway.start()
            stack.push_async_callback(gateway.close)
            return gateway

        yield start


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(Decimal(1))


@pytest.fixture
def replay(ledger: Ledger) -> Replay:
    rates = ModelRates(Decimal(1), Decimal(10), Decimal(1), Decimal(2))
    prices = PriceList(dict.fromkeys((HAIKU, GPT, EMBEDDER), rates))
    return lambda **recordings: ReplayAnswers(recordings, ledger, prices)


@pytest.fixture
def start_replay(start_gateway: Start, replay: Replay) -> Start:
    """A gateway that answers scenarios from these recordings."""
    return lambda **recordings: start_gateway(replay(**recordings))


@pytest.fixture
def record(start_gateway: Start) -> Record:
    """Answer a talk from a script, and give the recordings that this makes."""

    async def run(steps: Sequence[Step], talk: Talk) -> tuple[ModelRecording, ...]:
        answers = ScriptedAnswers({"authoring": steps})
        gateway = await start_gateway(answers)
        with gateway.open_scenario("authoring") as access:
            await talk(SdkTalk(access.environment))
            assert access.problems == ()
        return answers.recordings("authoring")

    return run
