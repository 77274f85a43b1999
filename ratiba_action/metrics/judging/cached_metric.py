"""A judged metric that calls its judge only when the cache does not have the score; with votes, masking and pacing.

Pacing begins one measurement per pass of the event loop, so that each has sent its question before the next is worded.
Wording takes milliseconds of CPU: twenty conversations that are answered at the same moment would word all their
questions first and send them together, so that provider and CPU wait for each other, round after round.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from ratiba_action.errors import RecordingError
from ratiba_action.metrics.judging.cache import CachedScore, JudgeCache
from ratiba_action.metrics.judging.cache_key import deepeval_cache_key, join_prompt_versions, metric_version
from ratiba_action.metrics.judging.voting_rule import VotingRule, median_vote
from ratiba_action.model.measurement import Case, Score
from ratiba_action.ports import JudgedMetric, Metric


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


class PacedMetric:
    """Implements ``Metric`` around another one.

    Args:
        metric: what is measured. It should reach the wire without giving way before; where it cannot, as with a
            shared ledger, questions are sent later and nothing else changes.
        turn: one lock for the whole run.
    """

    def __init__(self, metric: Metric, turn: asyncio.Lock) -> None:
        self.name = metric.name
        self.version = metric.version
        self.judged: bool = metric.judged
        self._metric = metric
        self._turn = turn

    async def measure(self, case: Case, threshold: float) -> Score:
        """The other metric's score.

        Raises:
            JudgeError: a judge answered outside its contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: a judge's call was refused.
        """
        async with self._turn:
            # The HTTP client writes in a task of its own, which this lets run before the next question is worded.
            await asyncio.sleep(0)
        return await self._metric.measure(case, threshold)


class MaskedMetric:
    """Implements ``Metric`` around another one.

    Args:
        metric: that asks a judge.
        mask: takes out of a case what identifies somebody.
    """

    def __init__(self, metric: Metric, mask: Callable[[Case], Case]) -> None:
        self.name = metric.name
        self.version = metric.version
        self.judged: bool = metric.judged
        self._metric = metric
        self._mask = mask

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the masked case; see ``Metric.measure``."""
        return await self._metric.measure(self._mask(case), threshold)


_SINGLE = VotingRule(votes=1)


class CachedMetric:
    """Implements ``JudgedMetric`` around another one.

    Repeats of a scenario neither read nor fill the cache: a kept answer is no independent measurement.

    Args:
        metric: what is measured where nothing is kept.
        cache: where scores are kept.
        judge_model: identifier of the judge's model, a part of the key.
        rule: which scores are voted on; a kept score that needs votes at today's threshold and has none is not used.
        on_hit: told each case of which a kept score is used.
        fresh: whether the score that was just measured came from a model; a recorded one is not kept.
    """

    def __init__(
        self,
        metric: JudgedMetric,
        cache: JudgeCache,
        judge_model: str,
        rule: VotingRule = _SINGLE,
        *,
        on_hit: Callable[[Case], None] = lambda _: None,
        fresh: Callable[[], bool] = lambda: True,
    ) -> None:
        self.name = metric.name
        self.version = metric.version
        self.judged: bool = metric.judged
        self._metric = metric
        self._cache = cache
        self._judge_model = judge_model
        self._rule = rule
        self._on_hit = on_hit
        self._fresh = fresh

    def evidence(self, case: Case) -> str:
        """SHA-256 of exactly what the judge is shown."""
        return self._metric.evidence(case)

    async def measure(self, case: Case, threshold: float) -> Score:
        """The kept score of this very evidence, else a fresh one, which is kept. Errors are never kept."""
        if case.trial:
            return await self._metric.measure(case, threshold)
        key = deepeval_cache_key(
            case.scenario.id,
            join_prompt_versions(case.transcript.prompt_versions),
            self._judge_model,
            metric_version(self.name, self.version),
        )
        shown = self.evidence(case)
        kept = self._cache.get(key, shown)
        if kept is not None and self._counts(kept, threshold):
            self._on_hit(case)
            return self._score(kept, threshold)
        score = await self._metric.measure(case, threshold)
        if self._fresh():
            self._cache.put(key, shown, CachedScore(score.value, score.reason, score.votes))
        return score

    def _counts(self, kept: CachedScore, threshold: float) -> bool:
        measured = len(kept.votes) or 1
        return measured >= self._rule.votes or not self._rule.calls_for_a_vote(kept.value, threshold)

    def _score(self, kept: CachedScore, threshold: float) -> Score:
        return Score(
            self.name,
            self.version,
            kept.value,
            threshold,
            judged=True,
            reason=kept.reason,
            cached=True,
            votes=kept.votes,
        )
