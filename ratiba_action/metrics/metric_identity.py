"""The version of a metric whose parameters change what it asks."""

from ratiba_action.model.canonical import digest
from ratiba_action.model.values import JsonObject

_DIGITS = 8


def version_with(version: str, parameters: JsonObject | None) -> str:
    """``1.0.0`` without parameters, else ``1.0.0+`` and the first digits of their SHA-256.

    So a score that was kept or recorded under other parameters is never used.
    """
    return version if parameters is None else f"{version}+{digest(dict(parameters))[:_DIGITS]}"
