"""Evaluations by name: a Langfuse dataset, how its items become cases, and what decides.

A target's items look like ``{"input": {"message": …, "history": […]}, "expectedOutput": {"intent": …}}``. A dataset of
a target that `ratiba dataset push` made has our templates, and is read by these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class DatasetTarget:
    """What an evaluation by name runs.

    Args:
        columns: JMESPath by field, for items that `ratiba` did not make.
        share_decides: whether answer accuracy decides instead of each case.
    """

    dataset: str
    columns: Mapping[str, str]
    share_decides: bool = False


_MESSAGE = {"input": "input.message || input", "history": "input.history || `[]`"}
TARGETS: Mapping[str, DatasetTarget] = MappingProxyType(
    {
        "intent-classifier": DatasetTarget("intent-classifier", {**_MESSAGE, "label": "expectedOutput.intent"}),
        "skill-selector": DatasetTarget("skill-selector", {**_MESSAGE, "labels": "expectedOutput.skills"}),
        "e2e-api": DatasetTarget(
            "main-dataset",
            {**_MESSAGE, "answer": "expectedOutput.answer || expectedOutput"},
            share_decides=True,
        ),
    }
)
ALL = "all"
"""Stands for every target, one after the other."""
