"""DeepEval's metrics of an agent: what was to be done, and how it was done."""

from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.judging.deepeval_metric import DeepEvalSpec
from ratiba_action.metrics.turn_by_turn import TurnByTurnMetric
from ratiba_action.metrics.whole_conversation import Part, WholeConversationMetric
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel

Words = Annotated[str, Field(min_length=1, max_length=2_000)]


class TaskParameters(StrictModel):
    """What was to be done."""

    task: Words | None = Field(default=None, description="the task; default: the judge reads it from the message")


class TaskCompletionMetric(TurnByTurnMetric):
    """How well reply and tool calls do what the message asks for; two questions a turn.

    Args:
        judge: who answers.
        parameters: the task, where it is not the message's.
    """

    name = "TaskCompletionMetric"
    spec = DeepEvalSpec("TaskCompletionMetric", 2, {"include_reason": True})
    parts = frozenset({Part.ASKED, Part.REPLY, Part.TOOLS})
    Parameters = TaskParameters

    def __init__(self, judge: Judge, parameters: TaskParameters | None = None) -> None:
        super().__init__(judge, parameters or TaskParameters())


class GoalAccuracyMetric(WholeConversationMetric):
    """How well the customer's goals were reached and the way to them was planned; two questions a turn."""

    name = "GoalAccuracyMetric"
    deepeval = "GoalAccuracyMetric"
    most_a_turn = 2
    shows_tools = True


class AvailableTool(StrictModel):
    """A tool that the agent could have called."""

    name: Words
    description: Words


class ToolUseParameters(StrictModel):
    """The tools that there are."""

    available_tools: Annotated[list[AvailableTool], Field(min_length=1)]


class ToolUseMetric(WholeConversationMetric):
    """Whether the right tools were called with the right arguments; two questions a turn.

    Args:
        judge: who answers.
        parameters: the tools that there are.
    """

    name = "ToolUseMetric"
    deepeval = "ToolUseMetric"
    most_a_turn = 2
    shows_tools = True
    Parameters = ToolUseParameters

    def __init__(self, judge: Judge, parameters: ToolUseParameters) -> None:
        super().__init__(judge, parameters)
        self._tools = parameters.available_tools

    def options(self) -> dict[str, object]:
        """With the tools."""
        return {**super().options(), "available_tools": [tool.model_dump() for tool in self._tools]}
