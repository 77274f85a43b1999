"""Paid calls over real connections to stand-ins: what the books say against what the provider charges."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from ratiba_action.errors import BudgetError, ConfigurationError, ProviderError
from ratiba_action.llm.providers.bounds import OutputLimits
from ratiba_action.llm.providers.metered import CallRetryPolicy
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from tests.support.eventually import eventually_async
from tests.support.live_calls import KEY, MODELS, live_calls, paid_request
from tests.support.provider_faults import (
    Altered,
    Cut,
    Drip,
    Failure,
    Raw,
    Served,
    Stalled,
    declined,
    truncated,
    without_usage,
)

HELLO = Step("anthropic", text="Karibu sana!", usage=Usage(40, 12))
HUGE = Step("anthropic", text="Karibu!", usage=Usage(250, 8_192))
ENDPOINTS = tuple(MODELS)

UNKNOWN: dict[str, Served] = {
    "dropped before the status line": Cut(HUGE, 0),
    "dropped in the status line": Cut(HUGE, 7),
    "dropped in the headers": Cut(HUGE, 30),
    "dropped before the body": Cut(HUGE, 80),
    "dropped in the body": Cut(HUGE, 120),
    "stalled in the body": Stalled(HUGE, 120),
    "stalled before the status line": Stalled(HUGE, 0),
    "a slow drip": Drip(HUGE, 0.05),
    "malformed JSON": Raw(b'{"id": "msg_1", "usage": {"input_tokens": 4', step=HUGE),
    "a number that is no JSON": Raw(b'{"usage": {"input_tokens": NaN, "output_tokens": 1}}', step=HUGE),
    "not UTF-8": Raw(b'{"usage": "\xff\xfe', step=HUGE),
    "nested without end": Raw(b"[" * 100_000, step=HUGE),
    "a list": Raw(b"[1, 2]", step=HUGE),
    "garbage": Raw(b"{}", step=HUGE),
    "nothing": Raw(b"", step=HUGE),
    "HTML": Raw(b"<html>Bad gateway</html>", "text/html", step=HUGE),
    "a whole answer of the wrong type": Raw(
        b'{"usage": {"input_tokens": 1, "output_tokens": 1}}', "text/plain", step=HUGE
    ),
    "a stream that nobody asked for": Raw(b'event: message_start\ndata: {"type": ', "text/event-stream", step=HUGE),
    "broken compression": Raw(b"\x1f\x8b\x08nonsense", step=HUGE, headers={"Content-Encoding": "gzip"}),
    "an accepted job": Raw(b'{"usage": {"input_tokens": 1, "output_tokens": 1}}', status=202, step=HUGE),
    "no usage": Altered(HUGE, without_usage),
    "a null usage": Altered(HUGE, lambda body: {**body, "usage": None}),
    "a usage of nothing": Altered(HUGE, lambda body: {**body, "usage": {"input_tokens": 0, "output_tokens": 0}}),
    "a negative usage": Altered(HUGE, lambda body: {**body, "usage": {"input_tokens": -1, "output_tokens": 1}}),
    "a time-out on the way": Raw(b"<html>504</html>", "text/html", 504, step=HUGE),
    "too large": Raw(b" " * 1_000_001, step=HUGE),
}


@pytest.mark.parametrize("fault", UNKNOWN.values(), ids=UNKNOWN)
async def test_an_answer_that_cannot_be_used_is_paid_in_full_and_tried_once_more(fault: Served) -> None:
    script: list[Served] = [fault, fault, fault]
    # A short limit only where it is what ends the call: a busy machine needs long for any other.
    seconds = 1.0 if isinstance(fault, Stalled | Drip) else 20.0
    async with live_calls(script, total_seconds=seconds) as rig:
        with pytest.raises(ProviderError, match="What was reserved for it counts as spent") as caught:
            await rig.calls.call(paid_request())
        assert caught.value.outcome_known is False
        assert rig.reservations.done == ("reserve", "keep", "reserve", "keep")
        assert len(rig.server.bill.charges) == 2
        assert rig.paid_enough()
        assert KEY not in repr(caught.value)


def with_usage(**reported: Any) -> Altered:
    return Altered(HELLO, lambda body: {**body, "usage": {**body["usage"], **reported}})


UNEXPLAINED: dict[str, tuple[Served, str]] = {
    "a dearer tier": (with_usage(service_tier="priority"), "the tier 'priority'"),
    "a dearer place": (with_usage(inference_geo="us"), "made in 'us'"),
    "tools that are billed apart": (with_usage(server_tool_use={"web_search_requests": 1}), "tools of its own"),
    "a count that nobody knows": (with_usage(gold_tokens=3), "'gold_tokens'"),
    "another model without a price": (
        Altered(HELLO, lambda body: {**body, "model": "gemini-99-ultra"}),
        "'gemini-99-ultra' answered, for which no price is known",
    ),
}


@pytest.mark.parametrize(("served", "reason"), UNEXPLAINED.values(), ids=UNEXPLAINED)
async def test_what_the_usage_does_not_explain_is_charged_at_the_reservation_and_the_answer_is_used(
    served: Served, reason: str
) -> None:
    async with live_calls([served, served]) as rig:
        answers = [await rig.calls.call(paid_request(ordinal=number)) for number in (0, 1)]
        upper = rig.reservations.events[0].amount
        assert rig.reservations.done == ("reserve", "settle") * 2
        assert [answer.usd for answer in answers] == [upper, upper]
        assert rig.reservations.spent == 2 * upper
        (note,) = rig.notes
        assert reason in note


ANSWERED_BY = {
    "itself": ("claude-haiku-4-5", 1),
    "a snapshot": ("claude-haiku-4-5-20251001", 1),
    "a dearer model": ("claude-opus-4-1-20250805", 5),
    "a cheaper model": ("claude-3-haiku-20240307", 1),
    "a name that says nothing": ("team-judge", 1),
}
"""What answers for ``claude-haiku-4-5`` at 3 and 15 dollars a million; Opus 4.1 costs 15 and 75, Haiku 3 less."""


@pytest.mark.parametrize(("model", "times"), ANSWERED_BY.values(), ids=ANSWERED_BY)
async def test_a_call_costs_the_higher_price_of_the_model_asked_for_and_of_the_one_that_answered(
    model: str, times: int
) -> None:
    async with live_calls([Altered(HELLO, lambda body: {**body, "model": model})]) as rig:
        answer = await rig.calls.call(paid_request())
        cost = Decimal(times * (40 * 3 + 12 * 15)) / 1_000_000
        assert (answer.usd, rig.reservations.spent) == (cost, cost)
        assert rig.notes == []


async def test_reasoning_that_only_the_total_counts_is_booked_above_the_cap_and_no_further_call_fits() -> None:
    reasoned = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 100_041}
    served = Altered(HELLO, lambda body: {**body, "usage": reasoned})
    async with live_calls([served, HELLO], cap=Decimal("0.3"), limits=OutputLimits(default=500)) as rig:
        answer = await rig.calls.call(paid_request("chat/completions"))
        assert answer.usage == Usage(32, 100_009)
        assert rig.reservations.spent == Decimal("1.500231")
        with pytest.raises(BudgetError):
            await rig.calls.call(paid_request("chat/completions", ordinal=1))


@pytest.mark.parametrize("fault", [Cut(HUGE, 100), Raw(b"{}", step=HUGE), Failure(529)], ids=["cut", "garbage", "529"])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_a_second_attempt_that_is_answered_is_paid_beside_the_first(endpoint: str, fault: Served) -> None:
    script: list[Served] = [fault, HELLO]
    async with live_calls(script) as rig:
        answer = await rig.calls.call(paid_request(endpoint))
        assert answer.usage.input_tokens == 40
        assert rig.reservations.done[2:] == ("reserve", "settle")
        assert rig.paid_enough()


async def test_every_byte_at_which_an_answer_can_break_off_leaves_the_books_above_the_bill() -> None:
    faults: list[Served] = [Cut(HUGE, after) for after in range(0, 320, 6)]
    async with live_calls(faults, retries=CallRetryPolicy(attempts=1)) as rig:
        for ordinal in range(len(faults)):
            with pytest.raises(ProviderError, match="counts as spent"):
                await rig.calls.call(paid_request(ordinal=ordinal))
        assert len(rig.server.bill.charges) == len(faults)
        assert rig.paid_enough()


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
@pytest.mark.parametrize("endpoint", ["messages", "chat/completions"])
async def test_a_busy_provider_is_asked_again_each_time_with_a_new_reservation(endpoint: str, status: int) -> None:
    async with live_calls([Failure(status, "busy") for _ in range(9)]) as rig:
        with pytest.raises(ProviderError, match=rf"after 4 attempts \(status {status}\): busy") as caught:
            await rig.calls.call(paid_request(endpoint))
        assert caught.value.status == status
        assert caught.value.outcome_known is True
        assert rig.reservations.done == ("reserve", "release") * 4
        assert rig.pauses == [1.0, 2.0, 4.0]
        assert rig.reservations.spent == rig.server.bill.total == 0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 307])
async def test_a_request_that_is_refused_is_not_sent_again_and_costs_nothing(status: int) -> None:
    async with live_calls([Failure(status, "no")] * 2) as rig:
        with pytest.raises(ProviderError, match=rf"refused by anthropic at once \(status {status}\)"):
            await rig.calls.call(paid_request())
        assert rig.reservations.done == ("reserve", "release")
        assert len(rig.server.received) == 1


async def test_an_address_that_leads_elsewhere_is_to_be_checked() -> None:
    async with live_calls([Failure(308, "no")]) as rig:
        with pytest.raises(ProviderError, match=r"Check the base URL\."):
            await rig.calls.call(paid_request())


async def test_a_provider_without_credit_is_not_asked_again() -> None:
    async with live_calls([Failure(429, "You exceeded your quota", code="insufficient_quota")]) as rig:
        with pytest.raises(ProviderError, match="Add credit"):
            await rig.calls.call(paid_request("responses"))
        assert rig.pauses == []


async def test_the_provider_says_how_long_to_wait_and_is_not_waited_for_longer_than_a_bound() -> None:
    script: list[Served] = [Failure(429, retry_after=seconds) for seconds in ("17", "0.25", "3600")]
    async with live_calls(script) as rig:
        with pytest.raises(ProviderError, match="after 3 attempts") as caught:
            await rig.calls.call(paid_request())
        assert rig.pauses == [17.0, 0.25]
        assert "asks to wait 3600 s, and models.longest_wait_seconds is 60: run again later" in str(caught.value)


@pytest.mark.parametrize("seconds", [61, 120, 600])
async def test_a_wait_that_is_too_long_is_named_with_the_setting_that_allows_it(seconds: int) -> None:
    async with live_calls([Failure(429, retry_after=str(seconds))]) as rig:
        with pytest.raises(ProviderError) as caught:
            await rig.calls.call(paid_request())
        wait = f"The provider asks to wait {seconds} s, and models.longest_wait_seconds is 60: raise it, or run again"
        assert wait in str(caught.value)
        assert "fewer scenarios" not in str(caught.value)
        assert rig.pauses == []


async def test_nobody_listening_costs_nothing_and_is_tried_again() -> None:
    async with live_calls([HELLO]) as rig:
        await rig.server.__aexit__(None, None, None)
        with pytest.raises(ProviderError, match="could not be sent after 4 attempts"):
            await rig.calls.call(paid_request())
        assert rig.reservations.done == ("reserve", "release") * 4
        assert rig.reservations.spent == 0


@pytest.mark.parametrize("change", [truncated, declined], ids=["truncated", "declined"])
@pytest.mark.parametrize("endpoint", ENDPOINTS[:3])
async def test_a_truncated_answer_and_a_refusing_model_are_answers_and_are_paid(endpoint: str, change: Any) -> None:
    async with live_calls([Altered(HELLO, change)]) as rig:
        answer = await rig.calls.call(paid_request(endpoint))
        assert rig.reservations.done == ("reserve", "settle")
        assert rig.reservations.spent == rig.server.bill.total > 0
        sent = str(dict(answer.body))
        assert "max_tokens" in sent or "max_output_tokens" in sent or "length" in sent or "refusal" in sent


@pytest.mark.parametrize("endpoint", ENDPOINTS[:3])
async def test_cached_tokens_are_paid_at_their_own_price(endpoint: str) -> None:
    step = Step("any", text="Karibu!", usage=Usage(10, 5, cache_read_tokens=100, cache_write_tokens=20))
    async with live_calls([step]) as rig:
        answer = await rig.calls.call(paid_request(endpoint))
        assert answer.usage == step.usage
        assert rig.reservations.spent == rig.server.bill.total


async def test_an_hours_cache_write_is_paid_at_the_dearest_price() -> None:
    def for_an_hour(body: dict[str, Any]) -> dict[str, Any]:
        usage = {**body["usage"], "cache_creation": {"ephemeral_1h_input_tokens": 100}}
        return {**body, "usage": usage}

    step = Step("anthropic", text="Karibu!", usage=Usage(10, 5, cache_write_tokens=100))
    async with live_calls([Altered(step, for_an_hour)]) as rig:
        await rig.calls.call(paid_request())
        assert rig.reservations.spent > Decimal(rig.server.bill.total.numerator) / rig.server.bill.total.denominator


@pytest.mark.parametrize(
    ("endpoint", "name"),
    [("messages", "max_tokens"), ("chat/completions", "max_completion_tokens"), ("responses", "max_output_tokens")],
)
async def test_a_request_without_an_output_limit_is_sent_with_one(endpoint: str, name: str) -> None:
    async with live_calls([HELLO], limits=OutputLimits(default=77)) as rig:
        await rig.calls.call(paid_request(endpoint))
        assert rig.server.received[0].body[name] == 77


async def test_a_stream_is_asked_for_as_a_whole() -> None:
    async with live_calls([HELLO]) as rig:
        await rig.calls.call(paid_request("chat/completions", stream=True, stream_options={"include_usage": True}))
        assert not {"stream", "stream_options"} & set(rig.server.received[0].body)


async def test_what_cannot_be_bounded_is_refused_before_anything_is_reserved() -> None:
    async with live_calls([HELLO]) as rig:
        with pytest.raises(ConfigurationError, match="the tool 'web_search_20260101'"):
            await rig.calls.call(paid_request(tools=[{"type": "web_search_20260101", "name": "web_search"}]))
        assert rig.reservations.done == ()
        assert rig.server.received == ()


async def test_a_model_without_a_price_is_refused_before_anything_is_reserved() -> None:
    async with live_calls([HELLO]) as rig:
        with pytest.raises(ConfigurationError, match="No price is known for 'claude-unpriced'"):
            await rig.calls.call(paid_request(model="claude-unpriced"))
        assert rig.reservations.done == ()


async def test_a_call_beyond_the_cap_is_refused_and_not_sent() -> None:
    async with live_calls([HELLO], cap=Decimal("0.0001")) as rig:
        with pytest.raises(BudgetError):
            await rig.calls.call(paid_request())
        assert rig.server.received == ()


async def test_a_settled_answer_is_kept_under_the_name_of_its_call() -> None:
    request = paid_request()
    async with live_calls([HELLO]) as rig:
        answer = await rig.calls.call(request)
        kept = rig.reservations.events[-1].answer
        assert kept is not None
        assert (kept.key, kept.body) == (request.journal_key, answer.body)


async def test_a_call_that_is_cancelled_on_its_way_is_paid_in_full() -> None:
    async with live_calls([Stalled(HUGE, 0)]) as rig:
        call = asyncio.create_task(rig.calls.call(paid_request()))

        async def charged() -> int:
            return len(rig.server.bill.charges)

        await eventually_async(charged)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert call.cancelled()
        assert rig.reservations.done == ("reserve", "keep")
        assert rig.paid_enough()


async def test_no_more_attempts_than_allowed_are_on_their_way_at_a_time() -> None:
    async with live_calls(lambda _: Stalled(HELLO, 0), concurrency=3) as rig:
        calls = [asyncio.create_task(rig.calls.call(paid_request(ordinal=number))) for number in range(9)]

        async def asked() -> int:
            return len(rig.server.received)

        await eventually_async(asked, until=lambda count: count == 3)
        assert rig.reservations.reserved == 3 * rig.reservations.events[0].amount
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert rig.reservations.reserved == 0
        assert rig.paid_enough()
