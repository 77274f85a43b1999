"""The metrics of classifiers: is the label right, or are the labels right? The mean over the turns that expect some."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.classification import case_f1, case_recall
from ratiba_action.metrics.classifier_answer import ClassifierAnswer, read_label, read_labels
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.values import mean
from ratiba_action.util.text import clip
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"


Labels = frozenset[str]
Judged = tuple[int, Labels, ClassifierAnswer]
"""Number of a turn from 1, what it expects, and what was answered."""


def score_labels(
    metric: tuple[str, str],
    case: Case,
    threshold: float,
    turns: Iterable[Judged],
    value: Callable[[Labels, Labels], float],
) -> Score:
    """The mean value of the turns whose labels the scenario gives; an answer without a label is a wrong one.

    Args:
        threshold: least value that passes.
        turns: those with a known label.
        value: of expected and given labels, 0 to 1.

    Raises:
        ConfigurationError: no turn has a known label.
    """
    values: list[float] = []
    details: list[str] = []
    for number, expected, answer in turns:
        values.append(0.0 if answer.problem and not answer.labels else value(expected, answer.labels))
        sure = "" if answer.confidence is None else f" with confidence {answer.confidence:.2f}"
        got = f"got {_names(answer.labels)}{sure}, expected {_names(expected)}"
        details.append(f"turn {number}: {'; '.join(filter(None, (answer.problem, got)))}")
    if not values:
        raise ConfigurationError(
            f"{metric[0]} has nothing to measure: no turn of {case.scenario.id} says which label is right.",
            "Give it, such as expect: {label: BOOKING} or expect: {labels: [hours, prices]}.",
        )
    return Score(*metric, mean(values), threshold, judged=False, reason="; ".join(details))


def _names(labels: Labels) -> str:
    return clip(", ".join(sorted(labels))) if labels else "none"


class LabelMetric:
    """Implements ``Metric`` without a judge: 1 for the label of ``expect.label``, else 0; the mean over turns."""

    name = "LabelMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from the outputs of its replies."""
        turns = [
            (number, frozenset({exchange.turn.expect.label}), read_label(exchange.reply.output))
            for number, exchange in enumerate(case.transcript.exchanges, 1)
            if exchange.turn.expect.label is not None
        ]
        return score_labels(
            (self.name, self.version), case, threshold, turns, lambda expected, got: float(expected == got)
        )


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
    """Implements ``Metric`` without a judge: recall, F1 or exact match of ``expect.labels``; the mean over turns."""

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
