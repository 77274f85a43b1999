"""What a conversation is expected to cost at most: it decides what is begun, never what is spent."""

from collections.abc import Callable, Sequence
from decimal import Decimal

from ratiba_action.model.conversation import Usage
from ratiba_action.model.values import Usd

_BYTES_PER_TOKEN = 4
_OVERHEAD_TOKENS = 2_300
_LEAST_OUTPUT = 1_024
UNKNOWN = Usage(6_000, 1_000)
"""A call of which no recording tells the size."""

Bound = Callable[[int, int], Usd]
"""The most that a call with so many tokens of input and output can cost."""


def envelope(calls: Sequence[tuple[Usage, Usd, Bound]]) -> Usd:
    """The money without which a conversation could stand still: all of its calls, and the dearest at its bound.

    Calls come one after the other, so that at any moment the earlier ones have cost about what they did when they
    were recorded, and the next one is reserved at the most that it can cost.

    Args:
        calls: the tokens of each expected call, what it cost when it was recorded, and its bound.
    """
    expected = sum((cost for _, cost, _ in calls), Decimal(0))
    gap = max((_reserved(usage, bound) - cost for usage, cost, bound in calls), default=Decimal(0))
    return expected + max(gap, Decimal(0))


def _reserved(usage: Usage, bound: Bound) -> Usd:
    """About what is set aside for a call of this size: its input by bytes, its output by its limit."""
    asked = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return bound(asked * _BYTES_PER_TOKEN + _OVERHEAD_TOKENS, max(usage.output_tokens, _LEAST_OUTPUT))
