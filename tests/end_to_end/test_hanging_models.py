"""A model that takes a request and never answers costs a run no more than its deadline, and no more than its bound."""

import time
from fractions import Fraction

import pytest

from tests.support.live_repository import LiveRepository

DEADLINE = 12


@pytest.mark.parametrize("first_held", [1, 2], ids=["the system's model", "a judge"])
async def test_a_run_whose_models_hang_ends_at_its_deadline(live: LiveRepository, first_held: int) -> None:
    live.scenario("greets", "Hello, I am Amina")
    live.talk.hold_from = first_held
    began = time.monotonic()
    ended = await live.gate("--deadline", str(DEADLINE), RATIBA_LLM="live", RATIBA_EVAL_BUDGET_USD="2")
    assert time.monotonic() - began < DEADLINE + 30
    assert ended.code == 3, ended.printed
    assert ended.outputs["conclusion"] == "incomplete"
    assert live.models.bill.total <= Fraction(ended.outputs["spent_usd"]) <= 2
