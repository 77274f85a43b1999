"""A grade of a whole conversation by DeepEval's ConversationalGEval."""

import math
from collections.abc import Sequence

from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.deepeval_bridge import load_deepeval
from ratiba_action.metrics.judging.deepeval_metric import as_text
from ratiba_action.metrics.judging.deepeval_model import Asked, deepeval_model, our_own
from ratiba_action.metrics.judging.valid_answer import validated
from ratiba_action.model.measurement import Answer, Case, Grade, Question
from ratiba_action.ports import Judge


async def grade_conversation(case: Case, question: Question, judge: Judge, *, name: str, steps: Sequence[str]) -> Grade:
    """Put a case to DeepEval's ConversationalGEval with frozen steps, and return what the judge said.

    A fresh metric is made for each call: DeepEval's keep their last result on themselves.

    Args:
        case: the conversation; empty messages and events of the world are left out.
        question: identity of the first question; later ones count its ordinal up.
        judge: answers each question that DeepEval words.
        name: what DeepEval calls the metric.
        steps: the evaluation steps; never derived from criteria, which would cost one more call a case.

    Raises:
        JudgeError: the judge's answer is out of range, not finite or empty.
    """
    load_deepeval()
    from deepeval.metrics import ConversationalGEval  # noqa: PLC0415 — see load_deepeval
    from deepeval.test_case import ConversationalTestCase, MultiTurnParams, Turn  # noqa: PLC0415 — see load_deepeval

    said: list[Turn] = []
    for exchange in case.transcript.exchanges:
        if exchange.turn.user and exchange.turn.user.strip():
            said.append(Turn(role="user", content=exchange.turn.user))
        if exchange.reply.text.strip():
            said.append(Turn(role="assistant", content=exchange.reply.text))
    if not any(turn.role == "assistant" for turn in said):
        raise JudgeError(
            f"{question.metric} cannot judge scenario {case.scenario.id!r}: the system said nothing.",
            "Look at the system's replies; there is nothing to grade in an empty conversation.",
        )
    metric = ConversationalGEval(
        name=name,
        evaluation_params=[MultiTurnParams.ROLE, MultiTurnParams.CONTENT],
        evaluation_steps=list(steps),
        model=deepeval_model(Asked(judge, question, most=1), grades=True),
        _include_g_eval_suffix=False,
    )
    try:
        await metric.a_measure(as_text(ConversationalTestCase(turns=said)), _show_indicator=False)
    except Exception as error:
        raise our_own(error) from error
    score = math.nan if metric.score is None else metric.score
    body = validated(Answer({"score": score, "reason": str(metric.reason or "")}), question).body
    return Grade(body["score"], body["reason"])
