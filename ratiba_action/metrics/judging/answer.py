"""What a judge model writes, read strictly."""

import json
import math
from dataclasses import dataclass, replace
from typing import Any

from ratiba_action.errors import AnotherModelError, JudgeError
from ratiba_action.metrics.judging.json_shape import shape_problems
from ratiba_action.model.answering_model import is_another_model
from ratiba_action.model.measurement import Answer, JudgeScore, Question
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import Judge

_REMEDY = "Run the scenario again; if it repeats, use another judge model."


def require_same_model(asked: str, answered: str) -> None:
    """Check that a judge answered itself; see ``is_another_model``.

    Args:
        answered: as its answer names it; empty where it does not say.

    Raises:
        AnotherModelError: it is certainly another model.
    """
    if is_another_model(asked, answered):
        raise AnotherModelError(
            f"The judge {asked!r} was asked, and {answered!r} answered: the score of another model does not count.",
            f"Look at what routes the judge's calls, or name the model that answers: judge: {{model: {answered}}}.",
        )


def validated(answer: Answer, question: Question) -> Answer:
    """The answer, if it keeps the Judge port's contract.

    Raises:
        JudgeError: the score is not a finite number from 0 to 1 or its reason is empty; another answer does not
            fit its schema.
    """
    if question.schema is None:
        return replace(answer, body=_grade_body(answer.body, question))
    problem = next(shape_problems(answer.body, question.schema), None)
    if problem is not None:
        raise JudgeError(f"{_asked(question)} and the answer has another shape: {problem}.", _REMEDY)
    return answer


async def judge_score(judge: Judge, question: Question) -> JudgeScore:
    """The judge's score.

    Raises:
        JudgeError: the score is out of range or has no reason.
        RecordingError: replaying, and no recording fits.
        BudgetError: the call was refused.
    """
    answer = validated(await judge.answer(question), question)
    return JudgeScore(answer.body["score"], answer.body["reason"], answer.replayed)


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
    return f"The judge was called for {question.metric} for scenario {question.scenario_id!r}"


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


ANSWER_TOKENS = 2_048
"""Enough for a reason of a few sentences, also by a model that thinks first; it bounds what a question costs."""


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """A model that is asked for structured answers.

    Args:
        provider: a built-in one, or a name of the configuration's ``providers``.
        name: as the provider calls it.
        answer_tokens: the most that one answer may hold.
        wire: whose format the request has; empty for the provider's own.
    """

    provider: str
    name: str
    answer_tokens: int = ANSWER_TOKENS
    wire: str = ""

    @property
    def format(self) -> str:
        """Whose format the request has."""
        return self.wire or self.provider


_SHOWN = 120
_BEST = 10


def parse_answer(text: str, question: Question) -> Answer:
    """A judge's JSON answer; a Markdown fence around it is allowed.

    Args:
        text: as the model wrote it; a score is ``{"score": 0 to 10, "reason": "…"}``.
        question: says which shape the answer must have.

    Raises:
        JudgeError: it is empty, not JSON, of another shape, out of range or NaN, or a score without a reason. Never
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
