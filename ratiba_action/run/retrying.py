"""Hold a trial again that broke off through no fault of the system under test."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult
from ratiba_action.verdict.trials import Standing, standing

RETRIED = frozenset({Phase.TENANT, Phase.PROVIDER, Phase.JUDGE, Phase.TIMEOUT})
"""Where a trial breaks off by chance: database, provider, judge's answer, time. What the system under test raised, a
recording that is missing and money that is gone would break it off again, or hide what the change did."""


async def with_retries(attempt: Callable[[], Awaitable[ScenarioResult]], retries: int) -> ScenarioResult:
    """The first attempt that did not break off, or the last one, with why each one before it did.

    Args:
        attempt: holds the trial in a fresh tenant; called at least once.
        retries: how often it is called again at most.
    """
    result = await attempt()
    broken: list[str] = []
    for _ in range(retries):
        if not isinstance(result, Errored) or not may_retry(result):
            break
        again = await attempt()
        if isinstance(again, NotRun):
            # No time or no money is left: what is known of the attempt before says more.
            break
        broken.append(f"{result.phase.value} error: {result.message}")
        result = again
    return result if isinstance(result, NotRun) or not broken else replace(result, retried=tuple(broken))


def may_retry(result: Errored) -> bool:
    """Whether a trial broke off by chance, and nothing exact was measured in it that failed."""
    return result.phase in RETRIED and standing(result) is not Standing.BROKEN
