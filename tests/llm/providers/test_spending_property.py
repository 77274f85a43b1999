"""Whatever the providers do and in whatever order: never above the cap, never below the bill."""

import asyncio
import random
from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratiba_action.errors import BudgetError, ProviderError
from ratiba_action.llm.providers.bounds import OutputLimits, bounded
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from tests.support.live_calls import MODELS, LiveRig, live_calls, paid_request
from tests.support.model_servers import Received
from tests.support.provider_faults import (
    Altered,
    Cut,
    Failure,
    Raw,
    Served,
    Stalled,
    truncated,
    without_usage,
)

LIMITS = OutputLimits(default=500)


class Moody:
    """Answers, fails and misbehaves at random, within what was asked for."""

    def __init__(self, seed: int, trouble: float) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a test that can be run again
        self._trouble = trouble

    def __call__(self, received: Received) -> Served:
        step = self._step(received)
        if self._random.random() >= self._trouble:
            return step
        after = self._random.randrange(300)
        return self._random.choice((
            Failure(429, retry_after="1"), Failure(500), Failure(529), Failure(400),
            Cut(step, after), Cut(Failure(500), after), Stalled(step, after), Altered(step, without_usage),
            Altered(step, truncated) if "input" not in received.body else step,
            Raw(b"{}", step=step), Raw(b"<html>", "text/html", step=step), Raw(b"", "text/html", 504, step=step),
        ))  # fmt: skip

    def _step(self, received: Received) -> Step:
        """Any usage that a provider could charge for this request, the dearest included."""
        endpoint = next(name for name in MODELS if received.path.endswith(name))
        maximum = bounded(paid_request(endpoint, **received.body), LIMITS)
        tokens = sorted(self._random.randint(0, maximum.input_tokens - 1) for _ in range(2))
        output = self._random.randint(0, maximum.output_tokens)
        if self._random.random() < 0.2:
            return Step("any", text="x", usage=Usage(1, maximum.output_tokens, 0, maximum.input_tokens - 1))
        return Step(
            "any", text="x", usage=Usage(maximum.input_tokens - tokens[1], output, tokens[0], tokens[1] - tokens[0])
        )


class Watched:
    """Looks at the books whenever they change."""

    def __init__(self, rig: LiveRig, cap: Decimal) -> None:
        self._rig = rig
        self._cap = cap
        self.highest = Decimal(0)

    async def watch(self) -> None:
        while True:
            held = self._rig.reservations.spent + self._rig.reservations.reserved
            self.highest = max(self.highest, held)
            assert held <= self._cap
            await asyncio.sleep(0)


async def spend(seed: int, trouble: float, cap: Decimal, calls: int) -> Decimal:
    """What the calls cost, checked at every moment and against the bill."""
    async with live_calls(Moody(seed, trouble), cap=cap, limits=LIMITS, concurrency=12, total_seconds=0.3) as rig:
        watched = Watched(rig, cap)
        watcher = asyncio.create_task(watched.watch())
        endpoints = [list(MODELS)[number % len(MODELS)] for number in range(calls)]
        requests = [paid_request(endpoint, ordinal) for ordinal, endpoint in enumerate(endpoints)]
        outcomes = await asyncio.gather(*map(rig.calls.call, requests), return_exceptions=True)
        watcher.cancel()
        assert not [
            each for each in await asyncio.gather(watcher, return_exceptions=True) if isinstance(each, AssertionError)
        ]
        failed = [each for each in outcomes if isinstance(each, BaseException)]
        assert [each for each in failed if not isinstance(each, BudgetError | ProviderError)] == []
        assert rig.reservations.reserved == 0
        assert rig.reservations.spent <= cap
        assert rig.paid_enough()
        assert watched.highest > 0
        return rig.reservations.spent


@given(
    seed=st.integers(0, 2**32),
    trouble=st.sampled_from([0.0, 0.3, 0.9]),
    cap=st.decimals("0.02", "2", places=4),
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sixty_calls_at_once_never_pass_the_cap_nor_fall_below_the_bill(
    seed: int, trouble: float, cap: Decimal
) -> None:
    assert asyncio.run(spend(seed, trouble, cap, calls=60)) <= cap
