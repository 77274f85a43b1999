"""A dataset on a Langfuse server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class DatasetItem:
    """One item.

    Args:
        id: unique in a project of several datasets.
        input: JSON; what the system is given.
        expected_output: JSON; what is expected of it.
        metadata: whatever else belongs to it; ours stands under ``ratiba``.
        active: False once it was archived.
        source_trace_id: the trace that it was made of; empty for none.
    """

    id: str
    input: Any
    expected_output: Any
    metadata: Mapping[str, Any] = field(default_factory=dict)
    active: bool = True
    source_trace_id: str = ""


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A dataset as a server has it.

    Args:
        metadata: ours stands under ``ratiba``.
        items: archived ones too.
    """

    metadata: Mapping[str, Any]
    items: tuple[DatasetItem, ...]
