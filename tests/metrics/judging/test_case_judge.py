"""Which grades are a model's own."""

import pytest

from ratiba_action.metrics.judging.answer import judge_score
from ratiba_action.metrics.judging.run_metric import CaseJudge
from ratiba_action.model.measurement import Answer, JudgeScore, Question
from tests.support.judges import graded


class GradesInTurn:
    """Implements ``Judge``: gives some grades, one after the other."""

    model = "judge-1"

    def __init__(self, *grades: JudgeScore) -> None:
        self._relevances = list(grades)

    async def answer(self, _: Question) -> Answer:
        return graded(self._relevances.pop(0))


QUESTION = Question("greets", "EnglishFluencyMetric:1", "0" * 64, 0, "How was it?")
LIVE, REPLAYED = JudgeScore(0.9, "Fine."), JudgeScore(0.9, "Fine.", replayed=True)


@pytest.mark.parametrize(
    ("grades", "fresh"),
    [((LIVE, LIVE), True), ((REPLAYED,), False), ((LIVE, REPLAYED), False), ((REPLAYED, LIVE), False)],
)
async def test_a_score_is_fresh_only_if_no_grade_of_it_was_recorded(
    grades: tuple[JudgeScore, ...], *, fresh: bool
) -> None:
    judge = CaseJudge(GradesInTurn(*grades).answer, "judge-1")
    assert [await judge_score(judge.repeat(number), QUESTION) for number, _ in enumerate(grades)] == list(grades)
    assert (judge.model, judge.fresh) == ("judge-1", fresh)
