"""Length of the longest common subsequence."""

from collections.abc import Callable, Sequence
from operator import eq
from typing import Any


def longest_common_subsequence(one: Sequence[Any], other: Sequence[Any], same: Callable[[Any, Any], bool] = eq) -> int:
    """How many items two sequences share in the same order, by dynamic programming in O(len(one) · len(other)).

    Args:
        one: a sequence.
        other: another.
        same: whether an item of the first is one of the second.
    """
    before = [0] * (len(other) + 1)
    for item in one:
        row = [0]
        for at, candidate in enumerate(other):
            row.append(before[at] + 1 if same(item, candidate) else max(before[at + 1], row[at]))
        before = row
    return before[-1]
