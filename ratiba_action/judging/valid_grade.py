"""What every judge's grade must be, live or replayed."""

import math
from typing import Any

from ratiba_action.core.model.measurement import Grade, Question
from ratiba_action.errors import JudgeError


def validated(grade: Grade, question: Question) -> Grade:
    """The grade, if it keeps the Judge port's contract.

    Raises:
        JudgeError: its score is not a finite number from 0 to 1, or its reason is empty.
    """
    score = _number(grade.score)
    if not math.isfinite(score) or not 0 <= score <= 1:
        raise JudgeError(
            f"The judge answered {question.metric} for scenario {question.scenario_id!r} with score {grade.score!r}, "
            "which is not between 0 and 1.",
            "Run the scenario again; if it repeats, use another judge model.",
        )
    if not grade.reason.strip():
        raise JudgeError(
            f"The judge answered {question.metric} for scenario {question.scenario_id!r} without a reason.",
            "Run the scenario again; if it repeats, use another judge model.",
        )
    return Grade(round(score, 6), grade.reason, grade.replayed)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
