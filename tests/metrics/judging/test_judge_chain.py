"""Which answers are a model's own."""

from dataclasses import replace

import pytest

from ratiba_action.metrics.judging.answer import judge_score
from ratiba_action.metrics.judging.run_metric import JudgeChain
from ratiba_action.model.measurement import Answer, JudgeScore, Question
from tests.support.cases import case, exchange
from tests.support.judges import graded

ONE = case(exchange("How was it?", "Fine."))
METRIC = "english_fluency:1"
LIVE, REPLAYED = JudgeScore(0.9, "Fine."), JudgeScore(0.9, "Fine.", replayed=True)


def chain_of(*grades: JudgeScore) -> JudgeChain:
    left = list(grades)

    async def answer(_: Question) -> Answer:
        return graded(left.pop(0))

    chain = JudgeChain("judge-1", lambda *_: None)
    chain.add(ONE.arm, live=answer)
    return chain


@pytest.mark.parametrize(
    ("grades", "fresh"),
    [((LIVE, LIVE), True), ((REPLAYED,), False), ((LIVE, REPLAYED), False), ((REPLAYED, LIVE), False)],
)
async def test_a_score_is_fresh_only_if_no_grade_of_it_was_recorded(
    grades: tuple[JudgeScore, ...], *, fresh: bool
) -> None:
    chain = chain_of(*grades)
    votes = [replace(ONE, first_ordinal=number) for number, _ in enumerate(grades)]
    assert [await judge_score(chain, vote.question(METRIC, "t")) for vote in votes] == list(grades)
    assert chain.is_fresh(METRIC, ONE) is fresh


async def test_a_recorded_answer_to_one_question_leaves_the_others_fresh() -> None:
    chain = chain_of(REPLAYED)
    await judge_score(chain, ONE.question(METRIC, "t"))
    assert chain.is_fresh("swahili_fluency:1", ONE), "another metric"
    assert chain.is_fresh(METRIC, replace(ONE, trial=1)), "another trial"
    assert chain.is_fresh(METRIC, replace(ONE, arm="base")), "the other arm"
    assert not chain.is_fresh(METRIC, ONE)
