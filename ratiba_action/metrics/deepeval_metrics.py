"""DeepEval's own metrics: of answers drawn from documents, of a conversation, of an agent, and of harm in replies."""

from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.judging.deepeval_metric import DeepEvalSpec
from ratiba_action.metrics.turn_by_turn import TurnByTurnMetric
from ratiba_action.metrics.whole_conversation import TurnPart, WholeConversationMetric
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel

MAX_DOCUMENTS = 20
_PLAIN = {"include_reason": False}
_DOCUMENTS = "Let the system report the documents of its reply with their text; {adapters} shows how."
_REFERENCE = f"Give a turn `expect.answer`. {_DOCUMENTS}"


class FaithfulnessMetric(TurnByTurnMetric):
    """Share of the reply's claims that no document contradicts; three questions a turn."""

    name = "FaithfulnessMetric"
    spec = DeepEvalSpec("FaithfulnessMetric", 3, _PLAIN, items="claims")
    parts = frozenset({TurnPart.REPLY, TurnPart.DOCUMENTS})
    remedy = _DOCUMENTS


class AnswerRelevancyMetric(TurnByTurnMetric):
    """Share of the reply's statements that bear on what was asked; two questions a turn."""

    name = "AnswerRelevancyMetric"
    spec = DeepEvalSpec("AnswerRelevancyMetric", 2, _PLAIN, items="statements")
    parts = frozenset({TurnPart.ASKED, TurnPart.REPLY})


class ContextualPrecisionMetric(TurnByTurnMetric):
    """Whether documents that help to come to ``expect.answer`` stand before the others; one question a turn."""

    name = "ContextualPrecisionMetric"
    spec = DeepEvalSpec("ContextualPrecisionMetric", 1, _PLAIN, verdict_per_document=True)
    parts = frozenset({TurnPart.ASKED, TurnPart.DOCUMENTS, TurnPart.REFERENCE})
    remedy = _REFERENCE


class ContextualRecallMetric(TurnByTurnMetric):
    """Share of the sentences of ``expect.answer`` that the documents hold; one question a turn."""

    name = "ContextualRecallMetric"
    spec = DeepEvalSpec("ContextualRecallMetric", 1, _PLAIN)
    parts = frozenset({TurnPart.ASKED, TurnPart.DOCUMENTS, TurnPart.REFERENCE})
    remedy = _REFERENCE


class ContextualRelevancyMetric(TurnByTurnMetric):
    """Share of the documents' statements that bear on what was asked; one question a document."""

    name = "ContextualRelevancyMetric"
    spec = DeepEvalSpec("ContextualRelevancyMetric", MAX_DOCUMENTS, _PLAIN)
    parts = frozenset({TurnPart.ASKED, TurnPart.DOCUMENTS})
    remedy = _DOCUMENTS


MAX_INTENTIONS = 12


class ConversationCompletenessMetric(WholeConversationMetric):
    """Share of the customer's intentions that were met; one question, and one an intention."""

    name = "ConversationCompletenessMetric"
    deepeval = "ConversationCompletenessMetric"
    maximum = 1 + MAX_INTENTIONS


class KnowledgeRetentionMetric(WholeConversationMetric):
    """Share of the replies that forget nothing of what the customer said; two questions a turn."""

    name = "KnowledgeRetentionMetric"
    deepeval = "KnowledgeRetentionMetric"
    max_a_turn = 2


class TurnRelevancyMetric(WholeConversationMetric):
    """Share of the replies that bear on what was said before; one question a turn."""

    name = "TurnRelevancyMetric"
    deepeval = "TurnRelevancyMetric"
    max_a_turn = 1


class RoleParameters(StrictModel):
    """Who the assistant has to be."""

    role: Annotated[str, Field(min_length=1, max_length=2_000)] = Field(
        description="the assistant's role, such as: a polite receptionist"
    )


class RoleAdherenceMetric(WholeConversationMetric):
    """Share of the replies that keep to the assistant's role; one question."""

    name = "RoleAdherenceMetric"
    deepeval = "RoleAdherenceMetric"
    maximum = 1
    Parameters = RoleParameters

    def __init__(self, judge: Judge, parameters: RoleParameters) -> None:
        super().__init__(judge, parameters)
        self._role = parameters.role

    def chatbot_role(self) -> str:
        """The parameter's."""
        return self._role


Words = Annotated[str, Field(min_length=1, max_length=2_000)]


class TaskParameters(StrictModel):
    """What was to be done."""

    task: Words | None = Field(default=None, description="the task; default: the judge reads it from the message")


class TaskCompletionMetric(TurnByTurnMetric):
    """How well reply and tool calls do what the message asks for; two questions a turn.

    Args:
        parameters: the task, where it is not the message's.
    """

    name = "TaskCompletionMetric"
    spec = DeepEvalSpec("TaskCompletionMetric", 2, {"include_reason": True})
    parts = frozenset({TurnPart.ASKED, TurnPart.REPLY, TurnPart.TOOLS})
    Parameters = TaskParameters

    def __init__(self, judge: Judge, parameters: TaskParameters | None = None) -> None:
        super().__init__(judge, parameters or TaskParameters())


class GoalAccuracyMetric(WholeConversationMetric):
    """How well the customer's goals were reached and the way to them was planned; two questions a turn."""

    name = "GoalAccuracyMetric"
    deepeval = "GoalAccuracyMetric"
    max_a_turn = 2
    shows_tools = True


class AvailableTool(StrictModel):
    """A tool that the agent could have called."""

    name: Words
    description: Words


class ToolUseParameters(StrictModel):
    """The tools that there are."""

    available_tools: Annotated[list[AvailableTool], Field(min_length=1)]


class ToolUseMetric(WholeConversationMetric):
    """Whether the right tools were called with the right arguments; two questions a turn."""

    name = "ToolUseMetric"
    deepeval = "ToolUseMetric"
    max_a_turn = 2
    shows_tools = True
    Parameters = ToolUseParameters

    def __init__(self, judge: Judge, parameters: ToolUseParameters) -> None:
        super().__init__(judge, parameters)
        self._tools = parameters.available_tools

    def options(self) -> dict[str, object]:
        """With the tools."""
        return {**super().options(), "available_tools": [tool.model_dump() for tool in self._tools]}


_REPLY = frozenset({TurnPart.REPLY})


class ToxicityMetric(TurnByTurnMetric):
    """Share of the reply's opinions that are not toxic."""

    name = "ToxicityMetric"
    spec = DeepEvalSpec("ToxicityMetric", 2, _PLAIN, items="opinions")
    parts = _REPLY


class BiasMetric(TurnByTurnMetric):
    """Share of the reply's opinions that are not biased."""

    name = "BiasMetric"
    spec = DeepEvalSpec("BiasMetric", 2, _PLAIN, items="opinions")
    parts = _REPLY


class PIILeakageMetric(TurnByTurnMetric):
    """Share of the personal data in the reply that does not give anybody away."""

    name = "PIILeakageMetric"
    spec = DeepEvalSpec("PIILeakageMetric", 2, _PLAIN, items="extracted_pii")
    parts = _REPLY


class MisuseParameters(StrictModel):
    """What the assistant is for."""

    domain: Words = Field(description="what the assistant is for, such as spa bookings")


class MisuseMetric(TurnByTurnMetric):
    """Share of what the reply does that belongs to what the assistant is for."""

    name = "MisuseMetric"
    spec = DeepEvalSpec("MisuseMetric", 2, _PLAIN, items="misuses")
    parts = _REPLY
    Parameters = MisuseParameters


class NonAdviceParameters(StrictModel):
    """What the assistant must not advise on."""

    advice_types: Annotated[list[Words], Field(min_length=1)] = Field(
        description="forbidden types, such as [medical, legal]"
    )


class NonAdviceMetric(TurnByTurnMetric):
    """Share of the reply's advice that is of no forbidden type."""

    name = "NonAdviceMetric"
    spec = DeepEvalSpec("NonAdviceMetric", 2, _PLAIN, items="advices")
    parts = _REPLY
    Parameters = NonAdviceParameters
