"""Did the agent make the expected calls in the expected turn and order?"""

from ratiba_action.metrics.tool_calls import ToolTurn, ordered_accuracy, turns_of
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.text import clip

__version__ = "1.0.0"


class ToolCallAccuracyMetric:
    """Implements ``Metric`` without a judge: calls in place over the larger of those expected and those made."""

    name = "ToolCallAccuracyMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the calls turn by turn."""
        turns, zone = turns_of(self.name, case), case.scenario.now.tzinfo
        wrong = [turn for turn in turns if ordered_accuracy([turn], zone) < 1]
        reason = "; ".join(_told(turn) for turn in wrong[:3]) or "every call in its place"
        return Score(self.name, self.version, ordered_accuracy(turns, zone), threshold, judged=False, reason=reason)


def _told(turn: ToolTurn) -> str:
    expected = clip(", ".join(tool.name for tool in turn.expected) or "no call")
    made = clip(", ".join(call.name for call in turn.made) or "no call")
    same = " with other arguments or in another order" if expected == made else ""
    return f"turn {turn.turn}: expected {expected}, made {made}{same}"
