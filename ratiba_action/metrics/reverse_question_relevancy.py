"""Does a reply answer what was asked? The judge writes the questions that the reply answers, and compares them with it.

The questions are written without a look at what was asked. Then the judge says of each how much of what was asked it
asks: all, a part, or nothing, worth 1, 0.5 and 0. The score is their mean; a reply that refuses answers nothing and
scores 0. The likeness is judged, because two wordings of one question share few characters.
"""

from dataclasses import replace

from ratiba_action.checks.refusal_phrases import read_refusal
from ratiba_action.metrics.judging.own_question import call_judge, closed_object, worded
from ratiba_action.metrics.turn_by_turn import OwnTurnsMetric
from ratiba_action.metrics.turn_scores import TurnValue
from ratiba_action.metrics.whole_conversation import ShownTurn, TurnPart
from ratiba_action.model.measurement import Question
from ratiba_action.model.values import mean

__version__ = "1.0.0"
QUESTIONS = 3
WORTH = {"all": 1.0, "part": 0.5, "nothing": 0.0}
WRITE = (
    "Read the reply of an assistant.",
    f"Write {QUESTIONS} different questions in its language, each of which the reply answers as directly as possible.",
)
COMPARE = (
    "Read what was asked, and the questions.",
    "Say of each question, in their order, how much of what was asked it asks: all, part, or nothing.",
    "Only the meaning counts, not the words.",
)
WRITTEN = closed_object(
    "questions",
    {"questions": {"type": "array", "items": {"type": "string"}, "minItems": QUESTIONS, "maxItems": QUESTIONS}},
)
COMPARED = closed_object(
    "likeness",
    {
        "asks": {
            "type": "array",
            "items": {"type": "string", "enum": list(WORTH)},
            "minItems": QUESTIONS,
            "maxItems": QUESTIONS,
        }
    },
)


class ReverseQuestionRelevancyMetric(OwnTurnsMetric):
    """How much the questions that the reply answers ask what was asked; two questions a turn."""

    name = "ReverseQuestionRelevancyMetric"
    revision = __version__
    parts = frozenset({TurnPart.ASKED, TurnPart.REPLY})
    maximum = 2
    remedy = "Let the system reply in words."

    async def value(self, turn: ShownTurn, first: Question) -> TurnValue | None:
        """The mean worth of one reply's questions."""
        if read_refusal(turn.shown.reply).declines:
            return TurnValue(turn.number, 0.0, "the reply refuses")
        write = worded(replace(first, schema=WRITTEN), WRITE, {"reply": turn.shown.reply})
        questions = (await call_judge(self._judge, write))["questions"]
        comparison = replace(first, ordinal=first.ordinal + 1, schema=COMPARED)
        shown = {"asked": turn.shown.asked, "questions": questions}
        answers = (await call_judge(self._judge, worded(comparison, COMPARE, shown)))["asks"]
        reason = "; ".join(f"{question} ({how})" for question, how in zip(questions, answers, strict=True))
        return TurnValue(turn.number, mean([WORTH[how] for how in answers]), reason)
