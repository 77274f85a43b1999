"""How many of the first k documents are relevant? Formula: ``core/ranking.py``."""

from ratiba_action.core.ranking import precision
from ratiba_action.metrics.cut_metric import CutMetric


class PrecisionAtKMetric(CutMetric):
    """The mean precision at k."""

    name = "PrecisionAtKMetric"
    formula = staticmethod(precision)
