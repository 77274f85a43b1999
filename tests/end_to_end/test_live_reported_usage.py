"""A live run of a system that asks its models past the gate and tells afterwards what it used."""

from fractions import Fraction

import pytest

from tests.support.live_repository import SYSTEM, LiveRepository

ADAPTER = """
class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return self

    def send(self, message):
        usage = [{{"model": "{model}", "input_tokens": 1000, "output_tokens": 100}}]
        return {{"text": "Bonjour", "state": "SAID", "usage": usage}}
"""


@pytest.fixture
def telling(live: LiveRepository) -> LiveRepository:
    """A system that tells of a model that has a price."""
    live.small.write("adapter.py", ADAPTER.format(model=SYSTEM))
    live.small.scenario("greets", "Hello", "Bye")
    return live


async def test_what_the_replies_tell_is_priced_and_booked_and_the_run_is_complete(telling: LiveRepository) -> None:
    ended = await telling.gate()
    assert ended.code == 0, ended.printed
    assert Fraction(ended.outputs["spent_usd"]) == Fraction("0.006"), "two turns of 1000 tokens at 2 and 100 at 10"
    assert telling.models.received == ()


async def test_a_reported_model_without_a_price_leaves_the_run_incomplete_and_is_named(telling: LiveRepository) -> None:
    telling.small.write("adapter.py", ADAPTER.format(model="nobody-knows-it"))
    ended = await telling.gate()
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    assert "nobody-knows-it" in ended.printed
    assert "there is no price for it" in ended.printed


async def test_reported_money_past_the_budget_is_counted_and_the_run_incomplete(telling: LiveRepository) -> None:
    ended = await telling.gate(RATIBA_EVAL_BUDGET_USD="0.002")
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    assert Fraction(ended.outputs["spent_usd"]) == Fraction("0.003")
    assert "more than was left of the budget" in ended.printed
