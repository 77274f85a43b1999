"""A judged metric that is measured again when its score is near the threshold."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from ratiba_action.errors import RecordingError
from ratiba_action.metrics.judging.voting_rule import VotingRule, median_vote
from ratiba_action.model.measurement import Case, Score
from ratiba_action.ports import JudgedMetric


class VotingMetric:
    """Implements ``JudgedMetric`` around measurements that ask their judge as questions of their own.

    The repeats never come from a cache: wrap the cache around this, not this around the cache.

    Args:
        measurement: a fresh metric for the measurement of a number, from 0; each asks through a ``RepeatedJudge``.
        rule: which scores are voted on.
        replayed: answers come from recordings. Where these hold the first measurement only, because they were made
            without votes, it counts alone and the reason says so.
    """

    def __init__(self, measurement: Callable[[int], JudgedMetric], rule: VotingRule, *, replayed: bool = False) -> None:
        self._first = measurement(0)
        self.name = self._first.name
        self.version = self._first.version
        self.judged: bool = True
        self._measurement = measurement
        self._rule = rule
        self._replayed = replayed

    def evidence(self, case: Case) -> str:
        """SHA-256 of exactly what the judge is shown."""
        return self._first.evidence(case)

    async def measure(self, case: Case, threshold: float) -> Score:
        """The score, or the median of several when the first is near the threshold.

        Raises:
            JudgeError: a judge answered outside its contract; votes are never left out.
            RecordingError: replaying, and the recordings hold none or only some of the measurements.
            BudgetError: a call was refused.
        """
        first = await self._first.measure(case, threshold)
        if not self._rule.calls_for_a_vote(first.value, threshold):
            return first
        numbers = range(1, self._rule.votes)
        tasks = (self._measurement(number).measure(case, threshold) for number in numbers)
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        if self._replayed and all(isinstance(outcome, RecordingError) for outcome in outcomes):
            return replace(first, reason=f"Measured once, no vote was recorded: {first.reason}")
        scores = [first, *(_score(outcome) for outcome in outcomes)]
        votes = tuple(score.value for score in scores)
        median = scores[median_vote(votes)]
        shown = ", ".join(f"{vote:.2f}" for vote in votes)
        return replace(median, votes=votes, reason=f"Median of {shown}: {median.reason}")


def _score(outcome: Score | BaseException) -> Score:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
