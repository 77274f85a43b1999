"""A judge's score by the repository's own words: DeepEval's G-Eval with steps, or a template with a temperature."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ratiba_action.metrics.judging.answer import judge_score
from ratiba_action.metrics.judging.deepeval_metric import DeepEvalSpec
from ratiba_action.metrics.judging.judged_identity import judged_identity
from ratiba_action.metrics.judging.own_question import DATA_STEP
from ratiba_action.metrics.rubric import DATA_STEP as CONVERSATION_STEP
from ratiba_action.metrics.rubric import RubricMetric
from ratiba_action.metrics.turn_by_turn import OwnTurnsMetric, TurnByTurnMetric
from ratiba_action.metrics.turn_scores import TurnValue
from ratiba_action.metrics.whole_conversation import ShownTurn, TurnPart
from ratiba_action.model.measurement import Question
from ratiba_action.ports import Judge
from ratiba_action.util.text import quoted
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"
Words = Annotated[str, Field(min_length=1, max_length=2_000)]
Shown = Literal["asked", "reply", "documents", "reference", "tools"]
_FIELDS = {
    "asked": (TurnPart.ASKED, "INPUT"),
    "reply": (TurnPart.REPLY, "ACTUAL_OUTPUT"),
    "documents": (TurnPart.DOCUMENTS, "RETRIEVAL_CONTEXT"),
    "reference": (TurnPart.REFERENCE, "EXPECTED_OUTPUT"),
    "tools": (TurnPart.TOOLS, "TOOLS_CALLED"),
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
    """The mean score of the turns by the repository's own steps; one question a turn."""

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
    """The score of a conversation by the repository's own steps; one question."""

    Parameters = StepsParameters

    def __init__(self, judge: Judge, parameters: StepsParameters) -> None:
        identity = judged_identity("ConversationalGEval", __version__, parameters, by_deepeval=False)
        super().__init__("ConversationalGEval", identity.version, (*parameters.steps, CONVERSATION_STEP), judge)


_PLACE = re.compile(r"\{(\w+)\}")
PLACES: Mapping[str, TurnPart] = {name: part for name, (part, _) in _FIELDS.items()}
"""What a template may name, and the part of a turn that stands there."""


def _readable(template: str) -> str:
    named = _PLACE.findall(template)
    unknown = [name for name in named if name not in PLACES]
    if unknown:
        allowed = ", ".join(f"{{{name}}}" for name in PLACES)
        raise ValueError(f"the template names {{{unknown[0]}}}; allowed: {allowed}")
    if "reply" not in named:
        raise ValueError("the template does not name {reply}, so that the judge would not see what it scores")
    return template


class TemplateParameters(StrictModel):
    """The judge's question."""

    template: Annotated[str, Field(min_length=1, max_length=8_000), AfterValidator(_readable)] = Field(
        description="question to the judge with {reply}, and {asked}, {documents}, {reference}, {tools} as needed"
    )
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = Field(
        default=None, description="of the judge's model; default: the provider's. Some models refuse one"
    )


class TemplateJudgeMetric(OwnTurnsMetric):
    """The mean score of the turns by the repository's own template; one question a turn."""

    name = "TemplateJudgeMetric"
    revision = __version__
    maximum = 1
    remedy = "Let the system reply with what the template names."
    Parameters = TemplateParameters

    def __init__(self, judge: Judge, parameters: TemplateParameters) -> None:
        super().__init__(judge)
        self._identity = judged_identity(self.name, __version__, parameters, by_deepeval=False)
        self._template, self._temperature = parameters.template, parameters.temperature
        self.parts = frozenset(PLACES[name] for name in _PLACE.findall(parameters.template))

    async def value(self, turn: ShownTurn, first: Question) -> TurnValue | None:
        """The judge's score of one turn."""
        shown = _texts(turn)
        # One pass: what stands in a text of the conversation is no place of the template.
        prompt = _PLACE.sub(lambda place: shown[place[1]], self._template)
        question = replace(first, prompt=f"{prompt}\n\n{DATA_STEP}", temperature=self._temperature)
        score = await judge_score(self._judge, question)
        return TurnValue(turn.number, score.score, score.reason)


def _texts(turn: ShownTurn) -> Mapping[str, str]:
    """What stands at each place: a quoted text on one line, out of which nothing leads."""
    shown = turn.shown
    tools: list[Any] = [{"name": call.name, "args": dict(call.args), "output": call.output} for call in shown.tools]
    return {
        "asked": quoted(shown.asked),
        "reply": quoted(shown.reply),
        "documents": quoted(list(shown.documents)),
        "reference": quoted(shown.reference),
        "tools": quoted(tools),
    }
