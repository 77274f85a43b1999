from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ratiba_action.errors import BudgetError, JudgeError, RecordingError
from ratiba_action.metrics.judging.answer import judge_score
from ratiba_action.metrics.judging.run_metric import RunMetric
from ratiba_action.metrics.judging.voting_rule import VotingRule
from ratiba_action.metrics.registry import load_judged_metric
from ratiba_action.model.canonical import transcript_digest
from ratiba_action.model.measurement import Answer, Case, JudgeScore, Question, Score
from ratiba_action.ports import Judge
from tests.support.cases import case, exchange
from tests.support.judges import ScriptedJudge, graded

ONE = case(exchange("Habari", "Karibu"))


class TwoQuestionMetric:
    """A judged metric that asks twice and gives the mean."""

    name = "ToneMetric"
    version = "1.0.0"
    judged = True

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def evidence(self, one: Case) -> str:
        return transcript_digest(one.transcript)

    async def measure(self, one: Case, threshold: float) -> Score:
        first = one.question("tone:1.0.0", "t")
        grades = [await judge_score(self._judge, replace(first, ordinal=first.ordinal + number)) for number in range(2)]
        mean = sum(judge_score.score for judge_score in grades) / 2
        return Score(self.name, self.version, mean, threshold, judged=True, reason=grades[0].reason)


def voting(judge: ScriptedJudge, rule: VotingRule = VotingRule(), *, replayed: bool = False) -> RunMetric:  # noqa: B008 — frozen
    return RunMetric(lambda _: TwoQuestionMetric(judge), rule, questions=2, replayed=replayed)


def answers(*measurements: float | Exception) -> ScriptedJudge:
    script: list[str | JudgeScore | Mapping[str, Any] | Exception] = []
    for number, value in enumerate(measurements):
        if isinstance(value, Exception):
            script.append(value)
        else:
            script += [JudgeScore(value, f"words {number}")] * 2
    return ScriptedJudge(script)


async def test_a_score_far_from_its_threshold_is_measured_once() -> None:
    judge = answers(0.9)
    score = await voting(judge).measure(ONE, 0.8)
    assert (score.value, score.votes, score.reason, len(judge.asked)) == (0.9, (), "words 0", 2)


@pytest.mark.parametrize(
    ("votes", "passed"),
    [((0.8, 0.7, 0.9), True), ((0.8, 0.7, 0.7), False), ((0.75, 1.0, 0.9), True), ((0.85, 0.2, 0.3), False)],
)
async def test_a_majority_decides_and_the_value_stays_the_first(votes: Sequence[float], passed: bool) -> None:  # noqa: FBT001 - a case
    judge = PerMeasurement(dict(enumerate(votes)))
    metric = RunMetric(lambda _: TwoQuestionMetric(judge), VotingRule(), questions=2)
    score = await metric.measure(ONE, 0.8)
    assert (score.value, score.votes, score.passed) == (votes[0], tuple(votes), passed)


async def test_what_was_measured_is_in_the_score_and_its_reason() -> None:
    judge = PerMeasurement({0: 0.8, 1: 0.7, 2: 0.9})
    score = await RunMetric(lambda _: TwoQuestionMetric(judge), VotingRule(), questions=2).measure(ONE, 0.8)
    assert (score.value, score.votes, score.threshold, score.judged) == (0.8, (0.8, 0.7, 0.9), 0.8, True)
    assert score.reason == "Votes 0.80, 0.70, 0.90: passed by majority. measurement 0"


async def test_a_failed_score_outside_the_band_says_that_it_is_no_chance() -> None:
    rule = VotingRule(0.05, measured={("ToneMetric", "1.0.0"): 0.12})
    far = await voting(answers(0.67), rule).measure(ONE, 0.8)
    near = await voting(answers(0.69, 0.7, 0.7), rule).measure(ONE, 0.8)
    assert far.reason == "0.13 below the threshold, too far to be chance (the judge's noise: 0.12). words 0"
    assert near.votes == (0.69, 0.7, 0.7), "the band that was measured counts, not the usual one"
    assert not far.votes


async def test_each_vote_says_which_model_gave_it() -> None:
    judge = PerMeasurement({0: 0.8, 1: 0.7, 2: 0.9})
    metric = RunMetric(
        lambda _: TwoQuestionMetric(judge), VotingRule(), questions=2, voter=lambda n, *_: ("a", "a", "b")[n]
    )
    assert (await metric.measure(ONE, 0.8)).voters == ("a", "a", "b")


async def test_each_measurement_asks_questions_of_its_own() -> None:
    judge = PerMeasurement({0: 0.8, 1: 0.8, 2: 0.8})
    metric = RunMetric(lambda _: TwoQuestionMetric(judge), VotingRule(), questions=2)
    await metric.measure(replace(ONE, trial=2, arm="base"), 0.8)
    assert sorted(question.ordinal for question in judge.asked) == [0, 1, 2, 3, 4, 5]
    assert {(question.trial, question.arm) for question in judge.asked} == {(2, "base")}


async def test_a_fluency_metric_can_be_voted_on() -> None:
    judge = PerMeasurement({0: 0.8, 1: 0.7, 2: 0.7}, questions=1)
    metric = RunMetric(
        lambda _: load_judged_metric("SwahiliFluencyMetric", judge),
        VotingRule(),
    )
    score = await metric.measure(ONE, 0.8)
    assert (score.value, score.passed) == (0.8, False)
    assert (metric.name, metric.judged) == ("SwahiliFluencyMetric", True)


@pytest.mark.parametrize("error", [JudgeError("garbage"), BudgetError("spent"), RecordingError("missing")])
async def test_a_vote_that_fails_is_an_error_and_never_left_out(error: Exception) -> None:
    with pytest.raises(type(error)):
        await voting(answers(0.8, error, error)).measure(ONE, 0.8)


async def test_recordings_without_votes_count_alone_and_say_so() -> None:
    missing = RecordingError("missing")
    score = await voting(answers(0.8, missing, missing), replayed=True).measure(ONE, 0.8)
    assert (score.value, score.votes) == (0.8, ())
    assert score.reason == "Measured once, no vote was recorded: words 0"


async def test_recordings_with_some_of_the_votes_are_an_error() -> None:
    judge = PerMeasurement({0: 0.8, 1: 0.7})
    metric = RunMetric(
        lambda _: TwoQuestionMetric(judge),
        VotingRule(),
        questions=2,
        replayed=True,
    )
    with pytest.raises(RecordingError):
        await metric.measure(ONE, 0.8)


async def test_the_first_measurement_of_a_replay_must_be_recorded() -> None:
    with pytest.raises(RecordingError):
        await voting(answers(RecordingError("missing")), replayed=True).measure(ONE, 0.8)


class PerMeasurement:
    """A judge whose grade depends on the number of the measurement; it knows no other measurement."""

    model = "judge-1"

    def __init__(self, grades: dict[int, float], questions: int = 2) -> None:
        self.asked: list[Question] = []
        self._relevances = grades
        self._questions = questions

    async def answer(self, question: Question) -> Answer:
        self.asked.append(question)
        number = question.ordinal // self._questions
        if number not in self._relevances:
            raise RecordingError(f"No measurement {number}.")
        return graded(JudgeScore(self._relevances[number], f"measurement {number}"))


def sampling(judge: Judge, samples: int = 3, **more: Any) -> RunMetric:
    return RunMetric(lambda _: TwoQuestionMetric(judge), VotingRule(samples=samples), questions=2, **more)


async def test_a_score_of_several_samples_is_their_mean_and_another_version_of_the_metric() -> None:
    judge = PerMeasurement({0: 1.0, 1: 0.0, 2: 1.0})
    metric = sampling(judge)
    score = await metric.measure(ONE, 0.8)
    assert score.value == pytest.approx(2 / 3)
    assert (score.passed, score.votes, score.version, metric.version) == (False, (), *["1.0.0+samples-3"] * 2)
    assert score.reason.startswith("Mean of 3 measurements (1.00, 0.00, 1.00). ")
    assert (await sampling(judge, 1).measure(ONE, 0.4)).version == "1.0.0"


async def test_samples_near_the_threshold_are_not_voted_on() -> None:
    judge = PerMeasurement(dict.fromkeys(range(3), 0.8))
    score = await sampling(judge).measure(ONE, 0.8)
    assert (score.passed, score.votes) == (True, ())


@pytest.mark.parametrize("replayed", [False, True])
async def test_a_sample_that_cannot_be_had_is_never_left_out(*, replayed: bool) -> None:
    judge = answers(0.9, RecordingError("nothing recorded", "Record it."), 0.9)
    with pytest.raises(RecordingError):
        await sampling(judge, replayed=replayed).measure(ONE, 0.8)


def test_a_score_needs_a_sample() -> None:
    with pytest.raises(ValueError, match="mean of 0 measurements"):
        VotingRule(samples=0)
    assert VotingRule(samples=3).of("ToneMetric", "1").samples == 3
