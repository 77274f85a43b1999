"""A judged metric that asks its judge only when the cache does not know the score."""

from ratiba_action.core.cache_key import deepeval_cache_key, join_prompt_versions, metric_version
from ratiba_action.core.canonical import transcript_digest
from ratiba_action.core.model.measurement import Case, Score
from ratiba_action.errors import ConfigurationError
from ratiba_action.judging.cache import CachedScore, JudgeCache
from ratiba_action.ports import Metric


class CachedMetric:
    """Implements ``Metric`` around another one.

    Args:
        metric: a judged metric; a deterministic one is never cached.
        cache: where scores are kept.
        judge_model: identifier of the judge's model, a part of the key.

    Raises:
        ConfigurationError: the metric is deterministic.
    """

    def __init__(self, metric: Metric, cache: JudgeCache, judge_model: str) -> None:
        if not metric.judged:
            raise ConfigurationError(f"The deterministic metric {metric.name!r} cannot be cached.", "Measure it.")
        self.name = metric.name
        self.version = metric.version
        self.judged: bool = metric.judged
        self._metric = metric
        self._cache = cache
        self._judge_model = judge_model

    async def measure(self, case: Case, threshold: float) -> Score:
        """The kept score of this very conversation, else a fresh one, which is kept. Errors are never kept."""
        key = deepeval_cache_key(
            case.scenario.id,
            join_prompt_versions(case.transcript.prompt_versions),
            self._judge_model,
            metric_version(self.name, self.version),
        )
        transcript = transcript_digest(case.transcript)
        kept = self._cache.get(key, transcript)
        if kept is not None:
            return Score(self.name, self.version, kept.value, threshold, judged=True, reason=kept.reason, cached=True)
        score = await self._metric.measure(case, threshold)
        self._cache.put(key, transcript, CachedScore(score.value, score.reason))
        return score
