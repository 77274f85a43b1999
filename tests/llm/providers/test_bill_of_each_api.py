"""Each format of ``providers`` under each fault: reserved before, settled after, held against the stand-in's bill."""

import asyncio
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiba_action.errors import BudgetError, ProviderError
from ratiba_action.llm.providers.bounds import OutputLimits
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from ratiba_action.model.model_request import PaidRequest
from tests.support.eventually import eventually_async
from tests.support.live_calls import LiveRig, live_calls, paid_request, service_account
from tests.support.model_servers import Received
from tests.support.provider_faults import (
    Altered,
    Body,
    Cut,
    Drip,
    Failure,
    Raw,
    Served,
    Stalled,
    truncated,
    without_usage,
)

pytest.importorskip("boto3")
pytest.importorskip("google.oauth2.service_account")

APIS = {
    "anthropic": "messages",
    "openai": "chat/completions",
    "openai, responses": "responses",
    "openai, embeddings": "embeddings",
    "azure": "chat/completions",
    "gemini": "generateContent",
    "converse": "converse",
    "bedrock": "messages",
    "vertex": "messages",
}
CLOUDS = frozenset({"bedrock", "vertex"})
LIMITS = OutputLimits(default=500)
STEP = Step("any", text="Karibu sana!", usage=Usage(40, 30, 10))


def request(api: str, ordinal: int = 0) -> PaidRequest:
    asked = paid_request(APIS[api], ordinal)
    return dataclasses.replace(asked, provider=api) if api in {"azure", *CLOUDS} else asked


google_account = functools.cache(service_account)
"""One for all calls: making its key takes a while."""


def account_for(*apis: str) -> str:
    return google_account() if CLOUDS.intersection(apis) else ""


def counting(value: Any) -> Altered:
    """An answer each of whose counts is another."""

    def change(body: Body) -> Body:
        counts: Body = {name: dict.fromkeys(body[name], value) for name in ("usage", "usageMetadata") if name in body}
        return {**body, **counts}

    return Altered(STEP, change)


def same_id(body: Body) -> Body:
    return {**body, **{name: "the-same" for name in ("id", "responseId") if name in body}}


FREE: Mapping[str, Served] = {
    "rate limit": Failure(429),
    "rate limit with a time": Failure(429, retry_after="2"),
    "its own error": Failure(500),
    "overloaded": Failure(529),
    "conflict": Failure(409),
}
"""Nothing is charged, and the call is made again."""

UNKNOWN: Mapping[str, Served] = {
    "time-out after the headers": Stalled(STEP, 90),
    "time-out in the body": Stalled(STEP, 250),
    "cut before the status": Cut(STEP, 0),
    "cut in the headers": Cut(STEP, 40),
    "cut in the body": Cut(STEP, 200),
    "cut before the last byte": Cut(STEP, 1_000_000),
    "garbage": Raw(b"\x00\xff{garbage", step=STEP),
    "half of a JSON": Raw(b'{"usage": {', step=STEP),
    "a list": Raw(b"[]", step=STEP),
    "an error with status 200": Raw(b'{"error": {"message": "busy"}}', step=STEP),
    "a page of a proxy": Raw(b"<html>", "text/html", step=STEP),
    "a proxy that gave up": Raw(b"", "text/html", 504, step=STEP),
    "a proxy's own JSON": Raw(b'{"message": "upstream"}', status=502, step=STEP),
    "accepted for later": Raw(b"{}", status=202, step=STEP),
    "larger than any answer": Raw(b" " * 1_100_000, step=STEP),
    "NaN": Raw(b'{"usage": NaN, "usageMetadata": NaN}', step=STEP),
    "no usage": Altered(STEP, without_usage),
    "huge usage": counting(10**12),
    "negative usage": counting(-1),
    "usage in words": counting("many"),
    "usage of a float": counting(1.5),
    "no tokens at all": counting(0),
}
"""It may have been charged: the reservation counts as spent, and the call is made once more."""

EXACT: Mapping[str, Served] = {
    "at once": STEP,
    "slowly, byte by byte": Drip(STEP, 0.0),
    "cut off by its limit": Altered(STEP, truncated),
    "with an id that came before": Altered(STEP, same_id),
}
"""Charged and settled to the last digit."""


class Watched:
    """Serves in order, and looks at the books each time: what is served is reserved by then."""

    def __init__(self, script: Sequence[Served]) -> None:
        self._left = list(script)
        self.reserved: list[Decimal] = []
        self.rig: LiveRig | None = None

    def __call__(self, received: Received) -> Served:  # noqa: ARG002 - of the stand-in
        assert self.rig is not None
        self.reserved.append(self.rig.reservations.reserved)
        return self._left.pop(0) if self._left else Failure(400, "the script is at its end")


def fraction_spent(rig: LiveRig) -> Fraction:
    return Fraction(rig.reservations.spent)


@pytest.mark.parametrize("api", APIS)
async def test_what_is_refused_costs_nothing_and_what_is_answered_its_price(api: str) -> None:
    script = Watched([*FREE.values(), *(EXACT[name] for name in EXACT if (api, name) != _NEVER_CUT)])
    async with live_calls(script, account=account_for(api), limits=LIMITS) as rig:
        script.rig = rig
        for ordinal in range(len(EXACT) - (api == _NEVER_CUT[0])):
            before = rig.server.bill.total
            await _call(rig, api, ordinal)
            if rig.server.bill.total == before:
                await _call(rig, api, ordinal)
        assert rig.reservations.reserved == 0
        assert fraction_spent(rig) == rig.server.bill.total > 0
        costs = [charge.usd for charge in rig.server.bill.charges]
        assert all(reserved >= max(costs) for reserved in script.reserved), "each attempt is reserved before it is sent"


_NEVER_CUT = ("openai, embeddings", "cut off by its limit")
"""An embedding has no limit of its output."""


async def _call(rig: LiveRig, api: str, ordinal: int) -> None:
    """One call; more refusals than one call is made again for are the end of it alone."""
    await asyncio.gather(rig.calls.call(request(api, ordinal)), return_exceptions=True)


@pytest.mark.parametrize("api", APIS)
async def test_what_may_have_been_charged_counts_as_spent(api: str) -> None:
    for name, served in UNKNOWN.items():
        script = Watched([served, STEP])
        seconds = 0.6 if isinstance(served, Stalled) else 20.0
        async with live_calls(script, account=account_for(api), limits=LIMITS, total_seconds=seconds) as rig:
            script.rig = rig
            answer = await rig.calls.call(request(api))
            upper = script.reserved[0]
            last = rig.server.bill.charges[-1].usd
            assert answer.usage.output_tokens == (0 if APIS[api] == "embeddings" else 30), name
            assert fraction_spent(rig) == Fraction(upper) + last >= rig.server.bill.total, name
            assert (rig.reservations.reserved, len(script.reserved)) == (Decimal(0), 2), name


@pytest.mark.parametrize("api", APIS)
async def test_a_second_unknown_outcome_ends_the_call_and_both_count(api: str) -> None:
    script = Watched([UNKNOWN["garbage"], UNKNOWN["cut in the body"], STEP])
    async with live_calls(script, account=account_for(api), limits=LIMITS) as rig:
        script.rig = rig
        with pytest.raises(ProviderError, match="counts as spent"):
            await rig.calls.call(request(api))
        assert rig.reservations.spent == sum(script.reserved)
        assert rig.paid_enough()


@pytest.mark.parametrize("api", APIS)
async def test_a_call_that_is_cancelled_counts_whole(api: str) -> None:
    script = Watched([Stalled(STEP, 90)])
    async with live_calls(script, account=account_for(api), limits=LIMITS) as rig:
        script.rig = rig
        call = asyncio.create_task(rig.calls.call(request(api)))

        async def charges() -> int:
            return len(rig.server.bill.charges)

        await eventually_async(charges)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert (rig.reservations.reserved, rig.reservations.spent) == (Decimal(0), script.reserved[0])
        assert rig.paid_enough()


@pytest.mark.parametrize("api", APIS)
async def test_a_provider_that_bills_more_than_was_asked_for_is_booked_as_it_bills(api: str) -> None:
    greedy = dataclasses.replace(STEP, usage=Usage(1_000_000, 0 if APIS[api] == "embeddings" else 9_000))
    script = Watched([greedy])
    async with live_calls(script, account=account_for(api), limits=LIMITS) as rig:
        script.rig = rig
        await rig.calls.call(request(api))
        assert fraction_spent(rig) == rig.server.bill.total > Fraction(script.reserved[0])


CALLS = st.lists(
    st.tuples(st.sampled_from(tuple(APIS)), st.sampled_from((*FREE, *UNKNOWN, "at once", "at once"))),
    min_size=1,
    max_size=12,
)


async def spend(calls: Sequence[tuple[str, str]], cap: Decimal) -> None:
    """All calls at once, each attempt meeting the next fault of the list."""
    faults = {**FREE, **UNKNOWN, **EXACT}
    script = Watched([faults[name] for _, name in calls])
    account = account_for(*(api for api, _ in calls))
    async with live_calls(script, account=account, limits=LIMITS, cap=cap, total_seconds=0.3) as rig:
        script.rig = rig
        asked = [rig.calls.call(request(api, ordinal)) for ordinal, (api, _) in enumerate(calls)]
        ended = await asyncio.gather(*asked, return_exceptions=True)
        errors = [each for each in ended if isinstance(each, BaseException)]
        assert [each for each in errors if not isinstance(each, BudgetError | ProviderError)] == []
        assert rig.reservations.reserved == 0
        assert rig.reservations.spent <= cap
        assert max(script.reserved, default=Decimal(0)) <= cap
        assert rig.paid_enough()


@given(calls=CALLS, cap=st.decimals("0.005", "0.2", places=4))
@settings(max_examples=15, deadline=None)
def test_no_sequence_of_calls_and_faults_passes_the_cap_or_falls_below_the_bill(
    calls: list[tuple[str, str]], cap: Decimal
) -> None:
    asyncio.run(spend(calls, cap))
