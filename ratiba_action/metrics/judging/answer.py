"""What a judge model writes, read strictly."""

import json
import math
from typing import Any

from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.valid_answer import validated
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.values import JsonObject

_SHOWN = 120
_BEST = 10


def parse_answer(text: str, question: Question) -> Answer:
    """A judge's JSON answer; a Markdown fence around it is allowed.

    Args:
        text: as the model wrote it; a grade is ``{"score": 0 to 10, "reason": "…"}``.
        question: says which shape the answer must have.

    Raises:
        JudgeError: it is empty, not JSON, of another shape, out of range or NaN, or a grade without a reason. Never
            read as 0.
    """
    body = text.strip()
    if body.startswith("```"):
        body = body.removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        answer: Any = json.loads(body, parse_constant=lambda name: math.nan if name == "NaN" else math.inf)
    except (ValueError, RecursionError) as error:
        raise _refused(text, "it is not JSON") from error
    if not isinstance(answer, dict):
        raise _refused(text, "it is not a JSON object")
    return validated(Answer(_grade(answer, text) if question.schema is None else answer), question)


def _grade(answer: JsonObject, text: str) -> JsonObject:
    score, reason = answer.get("score"), answer.get("reason")
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise _refused(text, f"its score {score!r:.40} is not a number")
    if not 0 <= score <= _BEST:  # NaN fails both comparisons
        raise _refused(text, f"its score {score!r:.40} is not between 0 and {_BEST}")
    if not isinstance(reason, str) or not reason.strip():
        raise _refused(text, "it gives no reason")
    return {"score": score / _BEST, "reason": reason.strip()}


def _refused(text: str, why: str) -> JudgeError:
    return JudgeError(
        f"The judge's answer {text[:_SHOWN]!r} cannot be used: {why}.",
        "Run the scenario again; if it repeats, use another judge model.",
    )
