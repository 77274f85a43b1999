"""Is a reply at least as good as the reference answer? Asked in both orders, because judges favour a position.

Preferred in both orders the reply is worth 1, the reference 0. A tie is worth 0.5, and so are two orders that disagree:
then the position decided. Method: Zheng et al. 2023, "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", section
3.4, where a win counts only if both orders agree.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from ratiba_action.metrics.judging.own_question import call_judge, closed_object, worded
from ratiba_action.metrics.turn_by_turn import OwnTurnsMetric
from ratiba_action.metrics.turn_scores import TurnValue
from ratiba_action.metrics.whole_conversation import ShownTurn, TurnPart
from ratiba_action.model.measurement import Question
from ratiba_action.model.values import JsonObject

__version__ = "1.0.0"
TIE = 0.5
STEPS = (
    "Read what was asked, and the answers A and B.",
    "Decide which one serves the asker better: right first, then complete, then clear.",
    "Their order means nothing, and neither does their length.",
    "Give your reason, then A, B, or tie when neither is clearly better.",
)
PREFERENCE = closed_object(
    "preference",
    {
        "reason": {"type": "string", "minLength": 1, "description": "why, before the choice"},
        "better": {"type": "string", "enum": ["A", "B", "tie"]},
    },
)
_REPLY_FIRST: Mapping[str, float] = {"A": 1.0, "B": 0.0, "tie": TIE}
_REPLY_LAST: Mapping[str, float] = {"A": 0.0, "B": 1.0, "tie": TIE}


class PairwisePreferenceMetric(OwnTurnsMetric):
    """Which of the reply and ``expect.answer``, or the captured reply, is better; two questions a turn."""

    name = "PairwisePreferenceMetric"
    revision = __version__
    parts = frozenset({TurnPart.ASKED, TurnPart.REPLY, TurnPart.REFERENCE})
    maximum = 2
    remedy = "Give a turn `expect.answer`, or a captured `reply`."

    async def value(self, turn: ShownTurn, first: Question) -> TurnValue | None:
        """What one reply is worth beside its reference."""
        shown = turn.shown
        if shown.reply == shown.reference:
            return TurnValue(turn.number, TIE, "both say the same; no judge was called")
        second = replace(first, ordinal=first.ordinal + 1)
        calls = (
            self._prefer(first, {"asked": shown.asked, "A": shown.reply, "B": shown.reference}),
            self._prefer(second, {"asked": shown.asked, "A": shown.reference, "B": shown.reply}),
        )
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        given, turned = (_answered(outcome) for outcome in outcomes)
        values = _REPLY_FIRST[given["better"]], _REPLY_LAST[turned["better"]]
        if values[0] != values[1]:
            return TurnValue(turn.number, TIE, f"the two orders disagree: {given['reason']} / {turned['reason']}")
        return TurnValue(turn.number, values[0], given["reason"])

    async def _prefer(self, question: Question, shown: JsonObject) -> JsonObject:
        return await call_judge(self._judge, worded(replace(question, schema=PREFERENCE), STEPS, shown))


def _answered(outcome: JsonObject | BaseException) -> JsonObject:
    """What was answered, or the error: no question is left running."""
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
