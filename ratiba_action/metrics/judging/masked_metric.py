"""A judged metric whose judge never sees what identifies a customer."""

from collections.abc import Callable

from ratiba_action.model.measurement import Case, Score
from ratiba_action.ports import Metric


class MaskedMetric:
    """Implements ``Metric`` around another one.

    Args:
        metric: that asks a judge.
        mask: takes out of a case what identifies somebody.
    """

    def __init__(self, metric: Metric, mask: Callable[[Case], Case]) -> None:
        self.name = metric.name
        self.version = metric.version
        self.judged: bool = metric.judged
        self._metric = metric
        self._mask = mask

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the masked case; see ``Metric.measure``."""
        return await self._metric.measure(self._mask(case), threshold)
