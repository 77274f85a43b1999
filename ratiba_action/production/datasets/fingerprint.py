"""Whether two items say the same, whichever server has kept them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ratiba_action.model.canonical import digest
from ratiba_action.model.dataset_item import DatasetItem

OURS = "ratiba"
"""Key of an item's metadata, and of a dataset's, under which everything of the gate stands."""

DIGEST = "sha256"
"""Key of the fingerprint among it: what was pushed last."""

_EXACT = 1 << 53
"""Servers written in JavaScript keep whole numbers up to here."""


def ours(metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The gate's part of metadata, None where there is none."""
    found = metadata.get(OURS)
    return found if isinstance(found, Mapping) else None


def fingerprint(item: DatasetItem) -> str:
    """SHA-256 of what an item says: input, expected output and the gate's metadata but for a fingerprint."""
    said = {name: value for name, value in (ours(item.metadata) or {}).items() if name != DIGEST}
    return digest(plain_numbers([item.input, item.expected_output, said]))


def stamped(item: DatasetItem, before: Mapping[str, Any]) -> DatasetItem:
    """The item, active, with its fingerprint.

    Args:
        item: with the gate's metadata.
        before: metadata that it had; what others have added to it stays.
    """
    said = {**(ours(item.metadata) or {}), DIGEST: fingerprint(item)}
    return replace(item, metadata={**before, OURS: said}, active=True)


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON; True is not 1."""
    return digest(plain_numbers(one)) == digest(plain_numbers(other))


def plain_numbers(value: Any) -> Any:
    """The value with 1.0 as 1: JSON knows one kind of number, and servers write it as they like."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    if isinstance(value, Mapping):
        return {key: plain_numbers(item) for key, item in value.items()}
    return [plain_numbers(item) for item in value] if isinstance(value, list) else value


def inexact_number(value: Any) -> int | None:
    """A whole number that a server may keep as another; None where there is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) > _EXACT else None
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next((found for item in items if (found := inexact_number(item)) is not None), None)
