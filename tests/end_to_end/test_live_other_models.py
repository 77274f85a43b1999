"""A provider that answers with another model than the one asked for: seen everywhere, paid at the higher price."""

import json
from decimal import Decimal

import pytest

from ratiba_action.model.measurement import Errored, Scored
from tests.support.live_repository import LiveRepository, is_judged, outcomes, report_of
from tests.support.model_servers import Received
from tests.support.provider_faults import Altered, Served

PRICES = "  gpt-5-pro: {input_per_million: 20, output_per_million: 100}\n"


def routed(live: LiveRepository, *, judges: bool, model: str) -> None:
    """Let every call of the system, or of the judges, be answered by another model."""

    def other(received: Received) -> Served | None:
        if is_judged(received) is not judges:
            return None
        step = live.talk._step(received)
        return Altered(step, lambda body: {**body, "model": model})

    live.talk.instead = other


@pytest.fixture
def greeting(live: LiveRepository) -> LiveRepository:
    """One judged scenario with one turn, and a price of the dearer model."""
    live.scenario("greets", "Hello")
    path = live.small.folder / ".github/ratiba.yml"
    live.small.write(".github/ratiba.yml", path.read_text() + PRICES)
    return live


async def test_the_systems_calls_cost_what_the_model_costs_that_answered_and_a_note_names_both(
    greeting: LiveRepository,
) -> None:
    routed(greeting, judges=False, model="gpt-5-pro")
    ended = await greeting.gate()
    assert ended.code == 0, ended.printed
    spent = report_of(ended).spending.by_party["system"]
    assert spent == Decimal("0.02"), "500 tokens at 20 and 100 at 100 dollars a million"
    assert "'gpt-5-pro' answered 1 call of the system to 'gpt-5', which is another model." in ended.printed
    assert "gpt-5-pro" in ended.comment
    result = outcomes(ended)["greets"]
    assert isinstance(result, Scored)
    assert result.transcript.models == ("gpt-5-pro",)
    events = [json.loads(line) for line in (ended.report / "events.jsonl").read_text().splitlines()]
    (called,) = [event["data"] for event in events if event["type"] == "model_call"]
    assert (called["model"], called["answered_by"], Decimal(called["cost_usd"])) == ("gpt-5", "gpt-5-pro", spent)


async def test_another_judge_is_an_error_of_the_score_and_no_score_of_the_judge(greeting: LiveRepository) -> None:
    routed(greeting, judges=True, model="claude-haiku-4-5")
    ended = await greeting.gate()
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    result = outcomes(ended)["greets"]
    assert isinstance(result, Errored)
    assert "'claude-opus-5-5' was asked, and 'claude-haiku-4-5' answered" in result.message
    assert "'claude-haiku-4-5' answered 1 call of the judge to 'claude-opus-5-5'" in ended.printed
