"""Thresholds over all cases of a dataset run (``seeds/003``, "Quality Thresholds")."""

from collections.abc import Mapping, Sequence
from typing import Any

from ratiba_action.config.metrics_block import STANDARD_THRESHOLDS, unknown_aggregates
from ratiba_action.metrics.aggregates import ANSWER_ACCURACY, LABELS, SKILL_RECALL, truth_of


def parse_threshold(text: str) -> tuple[str, float]:
    """A threshold such as ``macro_f1=0.85``.

    Raises:
        ValueError: it has another form.
    """
    name, _, least = text.partition("=")
    if problem := unknown_aggregates([name]):
        raise ValueError(f"NAME=LEAST such as macro_f1=0.85 ({problem})")
    try:
        value = float(least)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError("NAME=LEAST such as macro_f1=0.85, the least from 0 to 1")
    return name, value


def with_standard_thresholds(data: Mapping[str, Any], requested: Mapping[str, float]) -> dict[str, Any]:
    """A scenario file with ``cases``, with the standard thresholds that its labels allow.

    Args:
        data: of the file; its own thresholds replace the standard ones.
        requested: by name; replace both.
    """
    parts = data.get("gates", []), data.get("turns", [])
    if not all(isinstance(part, list) and all(map(_is_object, part)) for part in parts):
        # Not a valid scenario: loading it reports that.
        return dict(data)
    listed = {str(gate.get("metric")): gate.get("at_least") for gate in parts[0]}
    standard = {name: least for name, least in STANDARD_THRESHOLDS.items() if _has_truth(name, data, parts[1])}
    gates = {**standard, **listed, **requested}
    return {**data, "gates": [{"metric": name, "at_least": least} for name, least in gates.items()]}


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _has_truth(name: str, data: Mapping[str, Any], turns: Sequence[Any]) -> bool:
    expected = [turn.get("expect") or {} for turn in turns]
    if name == ANSWER_ACCURACY:
        # Labels that only aggregates use assert nothing about a single case.
        asserted = any(
            set(expectation) - {"label", "labels", "documents"} for expectation in expected if _is_object(expectation)
        )
        return asserted or any(data.get(part) for part in ("assertions", "rules", "rows"))
    several = any("labels" in expectation for expectation in expected if _is_object(expectation))
    if name == SKILL_RECALL:
        return several
    return truth_of(name) == LABELS and (
        several or any("label" in expectation for expectation in expected if _is_object(expectation))
    )
