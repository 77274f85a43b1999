"""How many of the relevant documents are among the first k? Formula: ``metrics/ranking.py``."""

from ratiba_action.metrics.cut_metric import CutMetric
from ratiba_action.metrics.ranking import recall


class RecallAtKMetric(CutMetric):
    """The mean recall at k."""

    name = "RecallAtKMetric"
    formula = staticmethod(recall)
