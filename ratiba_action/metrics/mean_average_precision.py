"""Is each relevant document found early? Mean average precision at k. Formula: ``core/ranking.py``."""

from functools import partial

from ratiba_action.core.model.measurement import Case, Score
from ratiba_action.core.ranking import average_precision
from ratiba_action.metrics.ranked_turns import CutParameters, score_rankings

__version__ = "1.0.0"


class MapMetric:
    """Implements ``Metric`` without a judge: the mean over the turns that have ``expect.documents``.

    Args:
        parameters: how many documents of the list count.
    """

    name = "MapMetric"
    version = __version__
    judged = False
    Parameters = CutParameters

    def __init__(self, parameters: CutParameters | None = None) -> None:
        self._k = (parameters or CutParameters()).k

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from the documents of its replies."""
        return score_rankings(self.name, self.version, case, threshold, partial(average_precision, k=self._k))
