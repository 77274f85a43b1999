"""Are the most relevant documents first? NDCG at k. Formula: ``metrics/ranking.py``."""

from functools import partial

from pydantic import Field

from ratiba_action.metrics.ranked_turns import CutParameters, score_rankings
from ratiba_action.metrics.ranking import Gain, ndcg
from ratiba_action.model.measurement import Case, Score

__version__ = "1.0.0"


class NdcgParameters(CutParameters):
    """How many documents of the list count, and what one of a grade is worth."""

    gain: Gain = Field(default="linear", description="linear: the grade; exponential: 2 ** grade - 1")


class NdcgMetric:
    """Implements ``Metric`` without a judge: the mean over the turns that have ``expect.documents``.

    Args:
        parameters: how many documents of the list count, and what one of a grade is worth.
    """

    name = "NdcgMetric"
    version = __version__
    judged = False
    Parameters = NdcgParameters

    def __init__(self, parameters: NdcgParameters | None = None) -> None:
        given = parameters or NdcgParameters()
        self._formula = partial(ndcg, k=given.k, gain=given.gain)

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from the documents of its replies."""
        return score_rankings(self.name, self.version, case, threshold, self._formula)
