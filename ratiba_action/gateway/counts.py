"""Token counts as providers report them."""

from collections.abc import Mapping
from typing import Any


def count(usage: Mapping[str, Any], name: str) -> int:
    """A count of a usage object; 0 when it is missing, null or not a whole number of at least 0."""
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def nested_count(usage: Mapping[str, Any], group: str, name: str) -> int:
    """A count inside a group of details, such as ``prompt_tokens_details.cached_tokens``."""
    details = usage.get(group)
    return count(details, name) if isinstance(details, Mapping) else 0
