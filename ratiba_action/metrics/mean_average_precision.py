"""Is each relevant document found early? Mean average precision at k. Formula: ``core/ranking.py``."""

from ratiba_action.core.ranking import average_precision
from ratiba_action.metrics.cut_metric import CutMetric


class MapMetric(CutMetric):
    """The mean average precision at k."""

    name = "MapMetric"
    formula = staticmethod(average_precision)
