"""DeepEval's G-Eval with steps of the repository's own: of each reply, or of the whole conversation."""

from typing import Annotated, Literal

from pydantic import Field

from ratiba_action.metrics.judged_identity import judged_identity
from ratiba_action.metrics.judging.deepeval_metric import DeepEvalSpec
from ratiba_action.metrics.judging.own_question import DATA_STEP
from ratiba_action.metrics.rubric import DATA_STEP as CONVERSATION_STEP
from ratiba_action.metrics.rubric import RubricMetric
from ratiba_action.metrics.turn_by_turn import TurnByTurnMetric
from ratiba_action.metrics.whole_conversation import Part
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"
Words = Annotated[str, Field(min_length=1, max_length=2_000)]
Shown = Literal["asked", "reply", "documents", "reference", "tools"]
_FIELDS = {
    "asked": (Part.ASKED, "INPUT"),
    "reply": (Part.REPLY, "ACTUAL_OUTPUT"),
    "documents": (Part.DOCUMENTS, "RETRIEVAL_CONTEXT"),
    "reference": (Part.REFERENCE, "EXPECTED_OUTPUT"),
    "tools": (Part.TOOLS, "TOOLS_CALLED"),
}


class StepsParameters(StrictModel):
    """What the judge is to look at."""

    criterion: Words = Field(description="name of what is scored, in a word or two")
    steps: Annotated[list[Words], Field(min_length=1, max_length=20)] = Field(
        description="steps by which the judge reaches a score from 0 to 10"
    )


class TurnStepsParameters(StepsParameters):
    """What the judge is to look at in each turn."""

    shows: Annotated[list[Shown], Field(min_length=1)] = Field(
        default_factory=lambda: list[Shown](["asked", "reply"]),
        description="what the judge sees: asked, reply, documents, reference (`expect.answer`), tools",
    )


class GEval(TurnByTurnMetric):
    """The mean score of the turns by the repository's own steps; one question a turn.

    Args:
        judge: who scores.
        parameters: criterion, steps and what is shown.
    """

    name = "GEval"
    spec = DeepEvalSpec("GEval", 1, grades=True)
    remedy = "Let the system reply with what the parameter `shows` names."
    Parameters = TurnStepsParameters

    def __init__(self, judge: Judge, parameters: TurnStepsParameters) -> None:
        super().__init__(judge, parameters)
        self.parts = frozenset(_FIELDS[name][0] for name in parameters.shows)

    @staticmethod
    def options(parameters: StrictModel | None) -> dict[str, object]:
        """Criterion, steps and fields."""
        if not isinstance(parameters, TurnStepsParameters):
            return {}
        return {
            "name": parameters.criterion,
            "evaluation_steps": [*parameters.steps, DATA_STEP],
            "evaluation_params": [_FIELDS[name][1] for name in dict.fromkeys(parameters.shows)],
        }


class ConversationalGEval(RubricMetric):
    """The score of a conversation by the repository's own steps; one question.

    Args:
        judge: who scores.
        parameters: criterion and steps.
    """

    Parameters = StepsParameters

    def __init__(self, judge: Judge, parameters: StepsParameters) -> None:
        identity = judged_identity("ConversationalGEval", __version__, parameters, by_deepeval=False)
        super().__init__("ConversationalGEval", identity.version, (*parameters.steps, CONVERSATION_STEP), judge)
