"""Did the agent make the expected tool calls, in order, with the right arguments, and no others?"""

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.tool_calls import (
    ToolTurn,
    argument_values,
    f1,
    ordered_accuracy,
    score_match,
    step_efficiency,
    turns_of,
)
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.instants import clock_of
from ratiba_action.util.text import clip

__version__ = "1.1.0"


class ToolCallF1Metric:
    """Implements ``Metric`` without a judge: harmonic mean of precision and recall of the calls."""

    name = "ToolCallF1Metric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the calls of all turns that say which they expect."""
        return score_match(self.name, self.version, case, threshold, f1)


class StepEfficiencyMetric:
    """Implements ``Metric`` without a judge: expected calls that were made, over all that were made or expected."""

    name = "StepEfficiencyMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the calls of all turns that say which they expect."""
        return score_match(self.name, self.version, case, threshold, step_efficiency)


class ToolCallAccuracyMetric:
    """Implements ``Metric`` without a judge: calls in place over the larger of those expected and those made."""

    name = "ToolCallAccuracyMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the calls turn by turn."""
        turns, clock = turns_of(self.name, case), clock_of(case.scenario)
        wrong = [turn for turn in turns if ordered_accuracy([turn], clock) < 1]
        reason = "; ".join(_difference(turn) for turn in wrong[:3]) or "every call in its place"
        return Score(self.name, self.version, ordered_accuracy(turns, clock), threshold, judged=False, reason=reason)


def _difference(turn: ToolTurn) -> str:
    expected = clip(", ".join(tool.name for tool in turn.expected) or "no call")
    made = clip(", ".join(call.name for call in turn.made) or "no call")
    same = " with other arguments or in another order" if expected == made else ""
    return f"turn {turn.turn}: expected {expected}, made {made}{same}"


class ToolArgumentMetric:
    """Implements ``Metric`` without a judge: right arguments over expected ones, of all expected calls."""

    name = "ToolArgumentMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the arguments; those of a call that was not made are wrong.

        Raises:
            ConfigurationError: no expected call names an argument.
        """
        right = total = 0
        wrong = []
        for turn in turns_of(self.name, case):
            for tool, correct in argument_values(turn, clock_of(case.scenario)):
                right, total = right + len(correct), total + len(tool.args)
                missed = [name for name in tool.args if name not in correct]
                wrong += [f"turn {turn.turn}: {tool.name} without the expected {', '.join(missed)}"] if missed else []
        if not total:
            raise ConfigurationError(
                f"{self.name} found nothing to measure in this conversation.",
                "Give a tool of `expect.tools` its `args`.",
            )
        reason = clip("; ".join(wrong)) or f"{total} of {total} arguments right"
        return Score(self.name, self.version, right / total, threshold, judged=False, reason=reason)
