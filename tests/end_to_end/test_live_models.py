"""A live run as a user starts it: a system that asks models through the gate, and judges that are models too."""

import json
from fractions import Fraction

from ratiba_action.model.measurement import Errored, Phase, Scored
from tests.support.live_repository import CONFIGURATION, JUDGE, KEY, SYSTEM, LiveRepository, is_judged, outcomes
from tests.support.model_servers import Received
from tests.support.provider_faults import Failure


async def test_a_live_run_pays_what_the_providers_bill_and_says_so(live: LiveRepository) -> None:
    live.scenario("greets", "Hello", "Thank you")
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    assert len(live.models.received) == 4, "two turns, one grade, one cross-check"
    assert Fraction(ended.outputs["spent_usd"]) == live.models.bill.total
    assert "live" in ended.comment
    assert KEY not in ended.printed + ended.comment + json.dumps(ended.results)


async def test_a_model_that_is_busy_once_is_asked_again_and_charges_once(live: LiveRepository) -> None:
    live.scenario("greets", "Hello")
    live.talk.instead = lambda _: Failure(429, "busy", retry_after="0") if live.talk.asked == 1 else None
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    assert len(live.models.received) == 4, "the refused attempt, the turn, the grade, the cross-check"
    assert len(live.models.bill.charges) == 3
    assert Fraction(ended.outputs["spent_usd"]) == live.models.bill.total


async def test_a_model_that_fails_for_ever_costs_nothing_and_no_other_conversation_anything(
    live: LiveRepository,
) -> None:
    live.scenario("breaks", "Answer this and fail")
    live.scenario("greets", "Hello")

    def fails(received: Received) -> Failure | None:
        concerns = received.body["model"] == SYSTEM and "and fail" in json.dumps(received.body)
        return Failure(500, "it broke") if concerns and not is_judged(received) else None

    live.talk.instead = fails
    ended = await live.gate()
    assert ended.code == 3, ended.printed
    results = outcomes(ended)
    assert isinstance(results["greets"], Scored)
    broken = results["breaks"]
    assert isinstance(broken, Errored)
    assert (broken.phase, "status 500" in broken.message) == (Phase.PROVIDER, True)
    assert Fraction(ended.outputs["spent_usd"]) == live.models.bill.total
    assert "Traceback" not in ended.printed


async def test_the_configuration_bounds_what_a_model_is_asked_for_and_how_often(live: LiveRepository) -> None:
    limits = f"models: {{retries: 0, overrides: {{{SYSTEM}: {{max_output_tokens: 399}}}}}}\n"
    live.small.write(".github/ratiba.yml", CONFIGURATION + limits)
    live.scenario("greets", "Hello")
    ended = await live.gate()
    assert ended.code == 3, ended.printed
    assert "399, the configuration's models.max_output_tokens" in ended.printed
    assert live.models.received == (), "the system asks for 400"

    live.small.write(".github/ratiba.yml", CONFIGURATION + "models: {retries: 0}\n")
    live.talk.instead = lambda _: Failure(429, "busy", retry_after="0")
    assert (await live.gate()).code == 3
    assert len(live.models.received) == 1, "no attempt is made again"


async def test_a_judge_that_may_not_answer_at_length_is_refused_before_anything_is_paid(live: LiveRepository) -> None:
    limits = f"models: {{overrides: {{{JUDGE}: {{max_output_tokens: 2047}}}}}}\n"
    live.small.write(".github/ratiba.yml", CONFIGURATION + limits)
    live.scenario("greets", "Hello")
    ended = await live.gate()
    assert ended.code == 2, ended.printed
    assert f"{JUDGE}.max_output_tokens to 2048 or more" in ended.printed
    assert live.models.received == ()
