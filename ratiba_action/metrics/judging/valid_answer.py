"""What every judge's answer must be, live or replayed."""

import math
from typing import Any

from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.json_shape import shape_problems
from ratiba_action.model.measurement import Answer, Grade, Question
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import Judge

_REMEDY = "Run the scenario again; if it repeats, use another judge model."


def validated(answer: Answer, question: Question) -> Answer:
    """The answer, if it keeps the Judge port's contract.

    Raises:
        JudgeError: a grade's score is not a finite number from 0 to 1 or its reason is empty; another answer does not
            fit its schema.
    """
    if question.schema is None:
        return Answer(_grade_body(answer.body, question), answer.replayed)
    problem = next(shape_problems(answer.body, question.schema), None)
    if problem is not None:
        raise JudgeError(f"{_asked(question)} and the answer has another shape: {problem}.", _REMEDY)
    return answer


async def grade(judge: Judge, question: Question) -> Grade:
    """The judge's grade.

    Args:
        judge: who answers.
        question: asks for a grade.

    Raises:
        JudgeError: the grade is out of range or has no reason.
        RecordingError: replaying, and no recording fits.
        BudgetError: the call was refused.
    """
    answer = validated(await judge.answer(question), question)
    return Grade(answer.body["score"], answer.body["reason"], answer.replayed)


def _grade_body(body: JsonObject, question: Question) -> JsonObject:
    score, reason = _number(body.get("score")), body.get("reason")
    if not math.isfinite(score) or not 0 <= score <= 1:
        raise JudgeError(
            f"{_asked(question)} and answered with score {body.get('score')!r:.40}, which is not between 0 and 1.",
            _REMEDY,
        )
    if not isinstance(reason, str) or not reason.strip():
        raise JudgeError(f"{_asked(question)} and answered without a reason.", _REMEDY)
    return {"score": round(score, 6), "reason": reason}


def _asked(question: Question) -> str:
    return f"The judge was asked {question.metric} for scenario {question.scenario_id!r}"


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
