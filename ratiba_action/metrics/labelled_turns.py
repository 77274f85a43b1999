"""What the metrics of classifiers share: the turns whose labels are known, and the mean over them."""

from collections.abc import Callable, Iterable

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.classifier_answer import ClassifierAnswer
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.values import mean
from ratiba_action.util.text import clip

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
        metric: name and version.
        case: what is measured.
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
