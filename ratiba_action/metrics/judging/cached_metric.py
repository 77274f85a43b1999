"""A judged metric that asks its judge only when the cache does not know the score."""

from collections.abc import Callable

from ratiba_action.metrics.judging.cache import CachedScore, JudgeCache
from ratiba_action.metrics.judging.cache_key import deepeval_cache_key, join_prompt_versions, metric_version
from ratiba_action.metrics.judging.voting_rule import VotingRule
from ratiba_action.model.measurement import Case, Score
from ratiba_action.ports import JudgedMetric

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
