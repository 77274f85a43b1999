"""Does a reply say what the reference answer says? One score a turn."""

from ratiba_action.metrics.judging.answer import judge_score
from ratiba_action.metrics.judging.own_question import worded
from ratiba_action.metrics.turn_by_turn import OwnTurnsMetric
from ratiba_action.metrics.turn_scores import TurnValue
from ratiba_action.metrics.whole_conversation import ShownTurn, TurnPart
from ratiba_action.model.measurement import Question

__version__ = "1.0.0"
STEPS = (
    "Read what was asked, the assistant's reply and the reference answer, which is right.",
    "Compare facts only: language, wording, order, length and politeness do not matter.",
    "Take points off for each fact of the reference that the reply leaves out or states otherwise.",
    "A further fact that does not contradict the reference costs nothing.",
    "Give 10 when the reply says all that the reference says, 5 when half of it is there, 0 when it contradicts it.",
)


class AnswerCorrectnessMetric(OwnTurnsMetric):
    """How far the reply agrees with ``expect.answer`` in facts; one question a turn."""

    name = "AnswerCorrectnessMetric"
    revision = __version__
    parts = frozenset({TurnPart.ASKED, TurnPart.REPLY, TurnPart.REFERENCE})
    maximum = 1
    remedy = "Give a turn `expect.answer`."

    async def value(self, turn: ShownTurn, first: Question) -> TurnValue | None:
        """The judge's score of one reply."""
        compared = {"asked": turn.shown.asked, "reply": turn.shown.reply, "reference": turn.shown.reference}
        given = await judge_score(self._judge, worded(first, STEPS, compared))
        return TurnValue(turn.number, given.score, given.reason)
