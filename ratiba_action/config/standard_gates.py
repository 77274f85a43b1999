"""What ``standard`` stands for among the gates of the configuration, and which names a gate there may have."""

from collections.abc import Iterable, Mapping

from ratiba_action.metrics.aggregates import AGGREGATES, ANSWER_ACCURACY, SKILL_RECALL, truth_of

STANDARD_GATES: Mapping[str, float] = {
    "macro_f1": 0.80,
    "min_class_f1": 0.60,
    SKILL_RECALL: 0.90,
    ANSWER_ACCURACY: 0.70,
}


def unknown_gates(names: Iterable[str]) -> str:
    """What is wrong with names of gates, in words; a metric's name is none: ``metric_thresholds`` hold its mean."""
    unknown = [name for name in names if not truth_of(name) and name != ANSWER_ACCURACY]
    return f"there is no gate {', '.join(map(repr, unknown)):.80}; known: {', '.join(AGGREGATES)}" if unknown else ""
