"""Did the agent make the calls that were expected, and no others, in whatever order?"""

from ratiba_action.metrics.tool_calls import f1, score_match
from ratiba_action.model.measurement import Case, Score

__version__ = "1.0.0"


class ToolCallF1Metric:
    """Implements ``Metric`` without a judge: harmonic mean of precision and recall of the calls."""

    name = "ToolCallF1Metric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the calls of all turns that say which they expect."""
        return score_match(self.name, self.version, case, threshold, f1)
