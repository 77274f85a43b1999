"""How many of the relevant documents are among the first k? Formula: ``core/ranking.py``."""

from ratiba_action.core.ranking import recall
from ratiba_action.metrics.cut_metric import CutMetric


class RecallAtKMetric(CutMetric):
    """The mean recall at k."""

    name = "RecallAtKMetric"
    formula = staticmethod(recall)
