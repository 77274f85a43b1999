"""Whether two scenarios are the same conversation held to the same truth."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ratiba_action.core.canonical import digest
from ratiba_action.core.model.scenario import Scenario

_WITHOUT_MEANING = frozenset({"line", "path", "tags", "touches", "quarantine"})
"""Where it stands, when it runs, whether it decides: a score means the same whatever these are."""


def content_digest(scenario: Scenario) -> str:
    """SHA-256 of everything in a scenario that a score depends on."""
    return digest(_plain(scenario))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        kept = (item.name for item in fields(value) if item.name not in _WITHOUT_MEANING)
        return {name: _plain(getattr(value, name)) for name in kept}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)
