"""Did the agent reach its end without calls that were not needed?"""

from ratiba_action.metrics.tool_calls import score_match, step_efficiency
from ratiba_action.model.measurement import Case, Score

__version__ = "1.0.0"


class StepEfficiencyMetric:
    """Implements ``Metric`` without a judge: expected calls that were made, over all that were made or expected."""

    name = "StepEfficiencyMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the calls of all turns that say which they expect."""
        return score_match(self.name, self.version, case, threshold, step_efficiency)
