"""A live run as a user starts it: a system that asks models through the gate, and judges that are models too."""

import asyncio
import json
from collections.abc import AsyncIterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from ratiba_action.core.model.conversation import Usage
from ratiba_action.core.pricing import ModelRates
from ratiba_action.gateway.script import Step
from ratiba_action.testing.model_servers import ModelServer, Received
from ratiba_action.testing.small_repository import Ended, SmallRepository

KEY = "sk-planted-0123456789abcdef"
ADAPTER = """
import json, os, urllib.request


class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return Conversation()


class Conversation:
    def send(self, message):
        body = {"model": "gpt-5", "messages": [{"role": "user", "content": message}], "max_completion_tokens": 400}
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            json.dumps(body).encode(),
            {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            text = json.loads(answer.read())["choices"][0]["message"]["content"]
        return {"text": text, "state": "SAID"}
"""
CONFIGURATION = """\
system:
  adapter: adapter:Adapter
judge:
  model: claude-opus-5-5
  cross_check: {model: gpt-5.6, share: 1.0}
prices:
  gpt-5: {input_per_million: 2, output_per_million: 10}
  gpt-5.6: {input_per_million: 3, output_per_million: 15}
  claude-opus-5-5: {input_per_million: 5, output_per_million: 25}
"""
RATES = {
    "gpt-5": ModelRates(Decimal(2), Decimal(10), Decimal(2), Decimal(4)),
    "gpt-5.6": ModelRates(Decimal(3), Decimal(15), Decimal(3), Decimal(6)),
    "claude-opus-5-5": ModelRates(Decimal(5), Decimal(25), Decimal(5), Decimal(10)),
}


def answers(received: Received) -> Step:
    """The system is friendly, both judges are content."""
    provider = "anthropic" if received.path.endswith("/messages") else "openai"
    usage = Usage(1_000, 100)
    if "response_format" in received.body or "output_config" in received.body:
        return Step(provider, data={"reason": "Plain and friendly.", "score": 9}, usage=usage)
    return Step(provider, text="You are welcome.", usage=usage)


@pytest.fixture
async def models() -> AsyncIterator[ModelServer]:
    async with ModelServer(answers, KEY, RATES) as server:
        yield server


@pytest.fixture
def talking(small: SmallRepository, models: ModelServer, tmp_path: Path) -> SmallRepository:
    """A repository whose system asks a model for every answer."""
    small.write("adapter.py", ADAPTER)
    small.write(".github/ratiba.yml", CONFIGURATION)
    small.environment.update(
        HOME=str(tmp_path / "home"),
        RATIBA_LLM="live",
        RATIBA_ANTHROPIC_API_KEY=KEY,
        RATIBA_OPENAI_API_KEY=KEY,
        RATIBA_ANTHROPIC_BASE_URL=models.url,
        RATIBA_OPENAI_BASE_URL=f"{models.url}/v1",
    )
    return small


def english(repository: SmallRepository, name: str, *messages: str) -> None:
    repository.scenario(name, *messages)
    text = (repository.folder / f"scenarios/{name}.yaml").read_text()
    repository.write(f"scenarios/{name}.yaml", text.replace("language: fr", "language: en"))


async def gate(repository: SmallRepository, *options: str, **variables: str) -> Ended:
    return await asyncio.to_thread(lambda: repository.gate(*options, **variables))


async def test_a_live_run_pays_what_the_providers_bill_and_says_so(
    talking: SmallRepository, models: ModelServer
) -> None:
    english(talking, "greets", "Hello", "Thank you")
    ended = await gate(talking)
    assert ended.code == 0, ended.printed
    assert len(models.received) == 4, "two turns, one grade, one cross-check"
    assert Fraction(ended.outputs["spent_usd"]) == models.bill.total
    assert "live" in ended.comment
    assert KEY not in ended.printed + ended.comment + json.dumps(ended.results)


SILENT = """
class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return self

    def send(self, message):
        return {"text": "You are welcome.", "state": "SAID"}
"""


async def test_a_system_whose_cost_nobody_knows_is_never_green(talking: SmallRepository) -> None:
    talking.write("adapter.py", SILENT)
    english(talking, "greets", "Hello")
    ended = await gate(talking)
    assert ended.code == 3, ended.printed
    assert "declare system.price_per_turn_usd" in ended.comment


@pytest.mark.parametrize(("price", "turns_paid"), [("0", Decimal(0)), ("0.25", Decimal("0.50"))])
async def test_a_declared_price_is_booked_for_every_turn(
    talking: SmallRepository, models: ModelServer, price: str, turns_paid: Decimal
) -> None:
    talking.write("adapter.py", SILENT)
    talking.write(".github/ratiba.yml", CONFIGURATION.replace("Adapter\n", f"Adapter\n  price_per_turn_usd: {price}\n"))
    english(talking, "greets", "Hello", "Thank you")
    ended = await gate(talking)
    assert ended.code == 0, ended.printed
    assert Fraction(ended.outputs["spent_usd"]) == models.bill.total + Fraction(turns_paid)


async def test_turns_that_the_budget_does_not_hold_are_not_sent(talking: SmallRepository) -> None:
    talking.write("adapter.py", SILENT)
    talking.write(".github/ratiba.yml", CONFIGURATION.replace("Adapter\n", "Adapter\n  price_per_turn_usd: 0.25\n"))
    english(talking, "greets", "Hello", "Thank you")
    ended = await gate(talking, "--budget-usd", "0.30")
    assert ended.code == 3, ended.printed
    assert Decimal(ended.outputs["spent_usd"]) <= Decimal("0.30")
