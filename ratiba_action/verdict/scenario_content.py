"""Whether two scenarios are the same conversation held to the same truth."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from ratiba_action.model.canonical import digest
from ratiba_action.model.scenario import Scenario

_WITHOUT_MEANING = frozenset({"line", "path", "tags", "touches", "quarantine"})
"""Where it stands, when it runs, whether it decides: a score means the same whatever these are."""


def content_digest(scenario: Scenario) -> str:
    """SHA-256 of everything in a scenario that a score depends on.

    What is left at its default does not count, so that a field of a later version changes no older scenario.
    """
    return digest(_plain(scenario))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        meant = {item.name: getattr(value, item.name) for item in fields(value) if item.name not in _WITHOUT_MEANING}
        return {item.name: _plain(meant[item.name]) for item in fields(value) if _says(item, meant)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


def _says(item: Field[Any], meant: Mapping[str, Any]) -> bool:
    default = item.default_factory() if item.default_factory is not MISSING else item.default
    return item.name in meant and (default is MISSING or meant[item.name] != default)
