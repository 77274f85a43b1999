"""Tool calls and events in words, as checks show them."""

from collections.abc import Mapping, Sequence
from typing import Any

from ratiba_action.model.conversation import ToolCall


def call_words(name: str, args: Mapping[str, Any]) -> str:
    """``name(key=value, …)``."""
    return f"{name}({', '.join(f'{key}={value}' for key, value in args.items())})"


def calls_words(calls: Sequence[ToolCall]) -> str:
    """Every call in order."""
    return "; ".join(call_words(call.name, call.args) for call in calls) or "no tool call"
