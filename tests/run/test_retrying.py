"""Which trials are held again, and what is kept of the attempts before."""

from collections.abc import Sequence

import pytest

from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult
from ratiba_action.run.runner import with_retries
from tests.support.sample_report import sample_check, sample_scored, sample_trial


class Attempts:
    """Gives one result after the other."""

    def __init__(self, results: Sequence[ScenarioResult]) -> None:
        self._results = iter(results)
        self.count = 0

    async def __call__(self) -> ScenarioResult:
        self.count += 1
        return next(self._results)


def errored(phase: Phase, *, holds: bool = True) -> Errored:
    return Errored(sample_trial(), phase, "overloaded", checks=(sample_check(passed=holds),))


async def test_a_trial_that_broke_off_by_chance_is_held_again_and_the_report_says_so() -> None:
    attempts = Attempts([errored(Phase.PROVIDER), errored(Phase.TIMEOUT), sample_scored()])
    result = await with_retries(attempts, 2)
    assert getattr(result, "retried", ()) == ("provider error: overloaded", "time-out error: overloaded")
    assert attempts.count == 3


async def test_retries_are_bounded() -> None:
    attempts = Attempts([errored(Phase.TENANT)] * 5)
    assert isinstance(await with_retries(attempts, 1), Errored)
    assert attempts.count == 2


@pytest.mark.parametrize("phase", [Phase.BUDGET, Phase.LEDGER, Phase.SYSTEM, Phase.RECORDING, Phase.METRIC])
async def test_what_would_break_off_again_or_hide_a_change_is_not_held_again(phase: Phase) -> None:
    attempts = Attempts([errored(phase), sample_scored()])
    await with_retries(attempts, 3)
    assert attempts.count == 1


async def test_what_failed_is_never_held_again() -> None:
    for failed in (sample_scored(checks=(sample_check(passed=False),)), errored(Phase.TIMEOUT, holds=False)):
        attempts = Attempts([failed, sample_scored()])
        assert await with_retries(attempts, 3) == failed
        assert attempts.count == 1


async def test_an_attempt_that_may_not_start_leaves_what_is_known() -> None:
    known = errored(Phase.PROVIDER)
    assert await with_retries(Attempts([known, NotRun(sample_trial(), "the budget is used up")]), 3) == known
