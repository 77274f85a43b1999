"""What a classifier answered, read from the structured output of its reply."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.model.scenario import Expectation
from ratiba_action.util.text import clip


@dataclass(frozen=True, slots=True)
class ClassifierAnswer:
    """The labels that a reply gives.

    Args:
        labels: empty when none could be read.
        confidence: 0 to 1; None where none was given, or none that could be read.
        problem: why the output could not be read as it should; empty when it could.
    """

    labels: frozenset[str]
    confidence: float | None = None
    problem: str = ""


def expected_labels(expect: Expectation) -> frozenset[str] | None:
    """The labels that a turn expects, one or several; None where it expects none at all."""
    if expect.label is not None:
        return frozenset({expect.label})
    return None if expect.labels is None else frozenset(expect.labels)


def read_label(output: Any) -> ClassifierAnswer:
    """The answer of a single-label classifier, ``{"label": …, "confidence": …}``."""
    if not isinstance(output, Mapping) or not isinstance(output.get("label"), str):
        return ClassifierAnswer(frozenset(), problem=f"the output has no text 'label': {clip(repr(output))}")
    confidence, problem = _confidence(output.get("confidence"))
    return ClassifierAnswer(frozenset({output["label"]}), confidence, problem)


def read_labels(output: Any) -> ClassifierAnswer:
    """The answer of a multi-label classifier, ``{"labels": […]}``."""
    labels = output.get("labels") if isinstance(output, Mapping) else None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        return ClassifierAnswer(frozenset(), problem=f"the output has no list of texts 'labels': {clip(repr(output))}")
    return ClassifierAnswer(frozenset(labels))


def _confidence(value: Any) -> tuple[float | None, str]:
    if value is None:
        return None, ""
    if type(value) in (int, float) and 0 <= value <= 1:
        return float(value), ""
    return None, f"the confidence {clip(repr(value))} is not a number from 0 to 1, so it does not count"
