"""Are the labels of a multi-label classifier the right ones?"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from ratiba_action.metrics.classification import case_f1, case_recall
from ratiba_action.metrics.classifier_answer import read_labels
from ratiba_action.metrics.labelled_turns import Labels, score_labels
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"

_VALUES: Mapping[str, Callable[[Labels, Labels], float]] = MappingProxyType(
    {"recall": case_recall, "f1": case_f1, "exact": lambda expected, got: float(expected == got)}
)


class LabelsParameters(StrictModel):
    """What is compared."""

    measure: Literal["recall", "f1", "exact"] = Field(
        default="recall",
        description="recall: share of the expected labels returned; f1: counts extra labels too; exact: all, no others",
    )


class LabelsMetric:
    """Implements ``Metric`` without a judge: recall, F1 or exact match of ``expect.labels``; the mean over turns.

    Args:
        parameters: what is compared.
    """

    name = "LabelsMetric"
    version = __version__
    judged = False
    Parameters = LabelsParameters

    def __init__(self, parameters: LabelsParameters | None = None) -> None:
        self._value = _VALUES[(parameters or LabelsParameters()).measure]

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from the outputs of its replies."""
        turns = [
            (number, frozenset(exchange.turn.expect.labels), read_labels(exchange.reply.output))
            for number, exchange in enumerate(case.transcript.exchanges, 1)
            if exchange.turn.expect.labels is not None
        ]
        return score_labels((self.name, self.version), case, threshold, turns, self._value)
