"""How soon comes the first relevant document? Mean reciprocal rank. Formula: ``metrics/ranking.py``."""

from functools import partial

from pydantic import Field

from ratiba_action.metrics.ranked_turns import Cut, score_rankings
from ratiba_action.metrics.ranking import reciprocal_rank
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"


class MrrParameters(StrictModel):
    """How many documents of the list count."""

    k: Cut | None = Field(default=None, description="default: the whole list")


class MrrMetric:
    """Implements ``Metric`` without a judge: the mean over the turns that have ``expect.documents``.

    Args:
        parameters: how many documents of the list count.
    """

    name = "MrrMetric"
    version = __version__
    judged = False
    Parameters = MrrParameters

    def __init__(self, parameters: MrrParameters | None = None) -> None:
        self._k = (parameters or MrrParameters()).k

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from the documents of its replies."""
        return score_rankings(self.name, self.version, case, threshold, partial(reciprocal_rank, k=self._k))
