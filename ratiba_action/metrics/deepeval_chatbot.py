"""DeepEval's metrics of a chatbot's conversation."""

from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.whole_conversation import WholeConversationMetric
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel

MOST_INTENTIONS = 12


class ConversationCompletenessMetric(WholeConversationMetric):
    """Share of the customer's intentions that were met; one question, and one an intention."""

    name = "ConversationCompletenessMetric"
    deepeval = "ConversationCompletenessMetric"
    most = 1 + MOST_INTENTIONS


class KnowledgeRetentionMetric(WholeConversationMetric):
    """Share of the replies that forget nothing of what the customer said; two questions a turn."""

    name = "KnowledgeRetentionMetric"
    deepeval = "KnowledgeRetentionMetric"
    most_a_turn = 2


class TurnRelevancyMetric(WholeConversationMetric):
    """Share of the replies that bear on what was said before; one question a turn."""

    name = "TurnRelevancyMetric"
    deepeval = "TurnRelevancyMetric"
    most_a_turn = 1


class RoleParameters(StrictModel):
    """Who the assistant has to be."""

    role: Annotated[str, Field(min_length=1, max_length=2_000)] = Field(
        description="the assistant's role, such as: a polite receptionist"
    )


class RoleAdherenceMetric(WholeConversationMetric):
    """Share of the replies that keep to the assistant's role; one question.

    Args:
        judge: who answers.
        parameters: the role.
    """

    name = "RoleAdherenceMetric"
    deepeval = "RoleAdherenceMetric"
    most = 1
    Parameters = RoleParameters

    def __init__(self, judge: Judge, parameters: RoleParameters) -> None:
        super().__init__(judge, parameters)
        self._role = parameters.role

    def chatbot_role(self) -> str:
        """The parameter's."""
        return self._role
