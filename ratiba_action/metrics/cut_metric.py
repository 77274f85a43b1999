"""What the metrics of the first k documents share: the parameter, and the mean over the turns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

from ratiba_action.metrics.ranked_turns import CutParameters, score_rankings
from ratiba_action.metrics.ranking import Judgements
from ratiba_action.model.measurement import Case, Score

__version__ = "1.0.0"


class CutMetric(ABC):
    """Implements ``Metric`` without a judge: the mean over the turns that have ``expect.documents``.

    Args:
        parameters: how many documents of the list count.
    """

    name: str
    version = __version__
    judged = False
    Parameters = CutParameters

    def __init__(self, parameters: CutParameters | None = None) -> None:
        self._k = (parameters or CutParameters()).k

    @staticmethod
    @abstractmethod
    def formula(ranking: Sequence[str], judgements: Judgements, k: int) -> float:
        """Value of one ranked list, 0 to 1."""

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from the documents of its replies."""
        return score_rankings(self.name, self.version, case, threshold, partial(self.formula, k=self._k))
