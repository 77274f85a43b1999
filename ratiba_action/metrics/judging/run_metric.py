"""A judged metric as a run measures it: at its turn, from the cache where it can be, voted on, and cross-checked.

``RunMetric`` measures; ``JudgeChain`` is the judge that its measurements call.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from ratiba_action.errors import RecordingError
from ratiba_action.llm.chain import AnswerChain, keep_nothing
from ratiba_action.metrics.judging.cache import CachedScore, JudgeCache
from ratiba_action.metrics.judging.cache_key import deepeval_cache_key, join_prompt_versions, metric_version
from ratiba_action.metrics.judging.judged_identity import BY_DEEPEVAL
from ratiba_action.metrics.judging.voting_rule import VotingRule
from ratiba_action.model.answering_model import is_another_model
from ratiba_action.model.measurement import BY_SAMPLES, Answer, Case, Question, Score
from ratiba_action.model.values import mean
from ratiba_action.ports import JudgedMetric, Metric

_SINGLE = VotingRule(votes=1)


class JudgeChain(AnswerChain[Question, Answer]):
    """Implements ``Judge`` for all cases of a run, each arm from its own recordings or live.

    A score of recorded answers is neither cross-checked, which would cost money where nothing needs a model, nor kept
    in the judge cache, where a later live run would take it for a model's.

    Args:
        model: identifier of the judge's model.
        log: called with each question and its answer.
        keep: called before that with each live answer, for recordings.
    """

    def __init__(
        self,
        model: str,
        log: Callable[[Question, Answer], None],
        keep: Callable[[Question, Answer], None] = keep_nothing,
    ) -> None:
        super().__init__(log, keep=keep)
        self.model = model
        self._replayed: set[tuple[str, str, int, str]] = set()
        self._answered: defaultdict[tuple[str, str, int, str], set[str]] = defaultdict(set)

    async def answer(self, question: Question) -> Answer:
        """The answer; see ``AnswerChain.answer``.

        Raises:
            JudgeError: the answer is outside the contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        answer = await super().answer(question)
        asked = (question.metric, question.scenario_id, question.trial, question.arm)
        if answer.replayed:
            self._replayed.add(asked)
        if answer.answered_by:
            self._answered[asked].add(answer.answered_by)
        return answer

    def answered_by(self, metric: str, case: Case) -> tuple[str, ...]:
        """The models that answered about a case, sorted, where they name themselves otherwise than the judge's.

        Args:
            metric: ``name:version`` that its questions have.
            case: whose trial was measured, however often.
        """
        return tuple(sorted(self._answered.get((metric, case.scenario.id, case.trial, case.arm), ())))

    def is_fresh(self, metric: str, case: Case) -> bool:
        """Whether no answer about a case, as far as it is measured, came from a recording.

        Args:
            metric: ``name:version`` that its questions have.
            case: whose trial was measured, however often.
        """
        return (metric, case.scenario.id, case.trial, case.arm) not in self._replayed


class RunMetric:
    """Implements ``JudgedMetric`` around measurements that ask their judge as questions of their own.

    Repeats of a scenario neither read nor fill the cache, and votes never come from it: a kept answer is no
    independent measurement.

    Args:
        measurement: a fresh metric for the measurement of a number, from 0.
        questions: by how much the ordinals of a measurement's questions lie behind those of the one before it.
        rule: which scores are voted on; a kept score that needs votes at today's threshold and has none is not used.
        replayed: answers come from recordings. Where these hold the first measurement only, because they were made
            without votes, it counts alone and the reason says so.
        cache: where scores are kept; None to measure everything.
        judge_model: identifier of the judge's model, a part of the cache's key.
        voter: model that gave the measurement of a number, by the ``name:version`` of the metric's questions and the
            case, asked when it was given; None for the judge's.
        fresh: whether the score that was just measured came from a model, by the same two; a recorded one is neither
            kept nor checked.
        answered: the models that answered, by the same two; see ``Score.answered_by``.
        on_hit: called with each kept score that is used, and its case.
        offer: called with each score of a model, its case and the digest of what was shown, for the cross-check.
        turn: one lock for the whole run, so that one measurement begins per pass of the event loop, and each has sent
            its question before the next is worded. Wording takes milliseconds of CPU: twenty scenarios that are
            answered at the same moment would word all their questions first and send them together, so that provider
            and CPU wait for each other, round after round.
    """

    def __init__(
        self,
        measurement: Callable[[int], JudgedMetric],
        rule: VotingRule = _SINGLE,
        *,
        questions: int = 1,
        replayed: bool = False,
        cache: JudgeCache | None = None,
        judge_model: str = "",
        voter: Callable[[int, str, Case], str] | None = None,
        fresh: Callable[[str, Case], bool] = lambda *_: True,
        answered: Callable[[str, Case], tuple[str, ...]] = lambda *_: (),
        on_hit: Callable[[Score, Case], None] = lambda *_: None,
        offer: Callable[[Score, Case, str], None] | None = None,
        turn: asyncio.Lock | None = None,
    ) -> None:
        self._first = measurement(0)
        self.name = self._first.name
        self.version = self._first.version
        self.judged: bool = self._first.judged
        self._asks = metric_version(self.name, self.version.partition(BY_DEEPEVAL)[0])
        self._measurement, self._questions, self._replayed = measurement, questions, replayed
        self._rule = rule.of(self.name, self.version)
        if self.judged and rule.samples > 1:
            # A mean is less noisy than one measurement, so the two are never compared nor taken for each other.
            self.version += f"{BY_SAMPLES}{rule.samples}"
        self._voter = voter or (lambda *_: judge_model)
        self._cache, self._judge_model, self._fresh, self._on_hit = cache, judge_model, fresh, on_hit
        self._answered, self._offer, self._turn = answered, offer, turn

    def evidence(self, case: Case) -> str:
        """SHA-256 of exactly what the judge is shown."""
        return self._first.evidence(case)

    async def measure(self, case: Case, threshold: float) -> Score:
        """The kept score of this very evidence, else a fresh one, which is kept. Errors are never kept.

        Raises:
            JudgeError: a judge answered outside its contract; votes are never left out.
            RecordingError: replaying, and the recordings hold none or only some of the measurements.
            BudgetError: a call was refused.
        """
        if self._turn is not None:
            async with self._turn:
                # The HTTP client writes in a task of its own, which this lets run before the next question is worded.
                await asyncio.sleep(0)
        cache = self._cache if not case.trial else None
        score = await (self._fresh_score(case, threshold) if cache is None else self._kept(cache, case, threshold))
        if self._offer is not None and score.judged and self._fresh(self._asks, case):
            self._offer(score, case, self.evidence(case))
        return self._explained(score)

    async def _kept(self, cache: JudgeCache, case: Case, threshold: float) -> Score:
        key = deepeval_cache_key(
            case.scenario.id,
            join_prompt_versions(case.transcript.prompt_versions),
            self._judge_model,
            metric_version(self.name, self.version),
        )
        shown = self.evidence(case)
        cached = cache.get(key, shown)
        if cached is not None and self._counts(cached, threshold):
            score = Score(self.name, self.version, cached.value, threshold, judged=True, reason=cached.reason)
            score = replace(
                score, cached=True, votes=cached.votes, voters=cached.voters, answered_by=cached.answered_by
            )
            self._on_hit(score, case)
            return score
        score = await self._fresh_score(case, threshold)
        if self._fresh(self._asks, case):
            kept = CachedScore(score.value, score.reason, score.votes, score.voters, score.answered_by)
            cache.put(key, shown, kept)
        return score

    async def _fresh_score(self, case: Case, threshold: float) -> Score:
        score = await self._voted(case, threshold)
        return replace(score, answered_by=self._answered(self._asks, case)) if score.judged else score

    def _counts(self, cached: CachedScore, threshold: float) -> bool:
        if any(is_another_model(self._judge_model, name) for name in cached.answered_by):
            return False
        measured = len(cached.votes) or 1
        return measured >= self._rule.votes or not self._rule.calls_for_a_vote(cached.value, threshold)

    async def _voted(self, case: Case, threshold: float) -> Score:
        """The first score; with votes when it is near the threshold."""
        first = await self._first.measure(case, threshold)
        if first.judged and self._rule.samples > 1:
            return await self._mean(first, case, threshold)
        if not self._rule.calls_for_a_vote(first.value, threshold):
            return first
        votes = (self._vote(number, case, threshold) for number in range(1, self._rule.votes))
        outcomes = await asyncio.gather(*votes, return_exceptions=True)
        if self._replayed and all(isinstance(outcome, RecordingError) for outcome in outcomes):
            return replace(first, reason=f"Measured once, no vote was recorded: {first.reason}")
        scores = [first, *(_score(outcome) for outcome in outcomes)]
        voters = tuple(self._voter(number, self._asks, case) for number in range(len(scores)))
        decided = replace(first, votes=tuple(score.value for score in scores), voters=voters)
        # The words of a vote that is on the side of the majority.
        spokesman = next(score for score in scores if score.passed == decided.passed)
        shown = ", ".join(f"{score.value:.2f}" for score in scores)
        outcome = "passed" if decided.passed else "failed"
        return replace(decided, reason=f"Votes {shown}: {outcome} by majority. {spokesman.reason}")

    async def _mean(self, first: Score, case: Case, threshold: float) -> Score:
        """The mean of all measurements; one that fails fails the score, since a mean of fewer is another score."""
        more = (self._vote(number, case, threshold) for number in range(1, self._rule.samples))
        outcomes = await asyncio.gather(*more, return_exceptions=True)
        scores = [first, *(_score(outcome) for outcome in outcomes)]
        value = mean([score.value for score in scores])
        nearest = min(scores, key=lambda score: abs(score.value - value))
        shown = ", ".join(f"{score.value:.2f}" for score in scores)
        reason = f"Mean of {len(scores)} measurements ({shown}). {nearest.reason}".rstrip()
        return replace(first, version=self.version, value=value, reason=reason)

    async def _vote(self, number: int, case: Case, threshold: float) -> Score:
        again = replace(case, first_ordinal=case.first_ordinal + number * self._questions)
        return await self._measurement(number).measure(again, threshold)

    def _explained(self, score: Score) -> Score:
        """The score; one that failed outside the band says why it was not measured again."""
        rule, missing = self._rule, score.threshold - score.value
        if score.passed or rule.votes == 1 or rule.samples > 1 or rule.calls_for_a_vote(score.value, score.threshold):
            return score
        too_far = f"{missing:.2f} below the threshold, too far to be chance (the judge's noise: {rule.band:.2f})."
        return replace(score, reason=f"{too_far} {score.reason}".rstrip())


def _score(outcome: Score | BaseException) -> Score:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


class MaskedMetric:
    """Implements ``Metric`` around another one.

    Args:
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
