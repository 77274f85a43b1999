"""Is each relevant document found early? Mean average precision at k. Formula: ``metrics/ranking.py``."""

from ratiba_action.metrics.cut_metric import CutMetric
from ratiba_action.metrics.ranking import average_precision


class MapMetric(CutMetric):
    """The mean average precision at k."""

    name = "MapMetric"
    formula = staticmethod(average_precision)
