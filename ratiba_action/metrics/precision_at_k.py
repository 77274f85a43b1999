"""How many of the first k documents are relevant? Formula: ``metrics/ranking.py``."""

from ratiba_action.metrics.cut_metric import CutMetric
from ratiba_action.metrics.ranking import precision


class PrecisionAtKMetric(CutMetric):
    """The mean precision at k."""

    name = "PrecisionAtKMetric"
    formula = staticmethod(precision)
