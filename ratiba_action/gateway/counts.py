"""Token counts as providers report them."""

from collections.abc import Mapping
from typing import Any

from ratiba_action.errors import RecordingError

_MOST_TOKENS = 1_000_000_000
"""Far above any model's context; beyond it a count is a mistake, and its price would not be exact."""


def count(usage: Mapping[str, Any], name: str) -> int:
    """A count of a usage object; 0 when it is missing or null.

    Raises:
        RecordingError: it is not a whole number from 0 to 1000000000.
    """
    value = usage.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_TOKENS:
        shown = repr(value)[:40]
        raise RecordingError(f"usage.{name} is {shown}, not a count of tokens.", "Record the answer again.")
    return value


def nested_count(usage: Mapping[str, Any], group: str, name: str) -> int:
    """A count inside a group of details, such as ``prompt_tokens_details.cached_tokens``.

    Raises:
        RecordingError: it is not a whole number from 0 to 1000000000.
    """
    details = usage.get(group)
    return count(details, name) if isinstance(details, Mapping) else 0
