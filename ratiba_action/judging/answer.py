"""What a judge model writes, read strictly."""

import json
import math
from typing import Any

from ratiba_action.core.model.measurement import Grade
from ratiba_action.errors import JudgeError

_SHOWN = 120
_BEST = 10


def parse_answer(text: str) -> Grade:
    """A grade from a judge's JSON answer ``{"score": 0 to 10, "reason": "…"}``; a Markdown fence around it is allowed.

    Raises:
        JudgeError: it is empty, not such an object, out of range, NaN, or gives no reason. Never read as 0.
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
    score, reason = answer.get("score"), answer.get("reason")
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise _refused(text, f"its score {score!r:.40} is not a number")
    if not 0 <= score <= _BEST:  # NaN fails both comparisons
        raise _refused(text, f"its score {score!r:.40} is not between 0 and {_BEST}")
    if not isinstance(reason, str) or not reason.strip():
        raise _refused(text, "it gives no reason")
    return Grade(score / _BEST, reason.strip())


def _refused(text: str, why: str) -> JudgeError:
    return JudgeError(
        f"The judge's answer {text[:_SHOWN]!r} cannot be used: {why}.",
        "Run the scenario again; if it repeats, use another judge model.",
    )
