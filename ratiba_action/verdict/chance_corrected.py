"""Agreement of raters where Cohen's kappa misleads or does not apply; Cohen's own is in ``verdict/agreement.py``."""

import math
from collections.abc import Sequence

from ratiba_action.verdict.agreement import Disagreement, unweighted

_PAIR = 2


def gwet_coefficient(table: Sequence[Sequence[float]], disagreement: Disagreement = unweighted) -> float | None:
    """AC1 of two raters, AC2 with weights (Gwet 2008; Gwet 2014, section 4.4); steady where one category prevails.

    Args:
        table: counts; rows are the first rater's categories, columns the second's, all that could be given.
        disagreement: weight of each cell; scaled here so that the largest is 1.

    Returns:
        At most 1, or None without items or with a single category.

    Raises:
        ValueError: the table is not square.
    """
    size = len(table)
    if any(len(row) != size for row in table):
        raise ValueError(f"A table of {size} categories needs {size} columns: {table!r}.")
    total = sum(map(sum, table))
    cells = [(row, column) for row in range(size) for column in range(size)]
    largest = max((disagreement(row, column) for row, column in cells), default=0.0)
    if not total or not largest:
        return None
    agreed = {cell: 1 - disagreement(*cell) / largest for cell in cells}
    observed = sum(agreed[row, column] * table[row][column] for row, column in cells) / total
    shares = [(sum(table[k]) + sum(row[k] for row in table)) / (2 * total) for k in range(size)]
    weight = sum(agreed.values())
    expected = weight / (size * (size - 1)) * sum(share * (1 - share) for share in shares)
    return (observed - expected) / (1 - expected)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Agreement of several raters (Fleiss 1971).

    Args:
        counts: for each item how many raters chose each category; the same number of raters for each item.

    Returns:
        At most 1, or None where every rater chose one and the same category.

    Raises:
        ValueError: there are no items, fewer than two raters, or not the same number for each item.
    """
    raters = {sum(item) for item in counts}
    if len(raters) != 1 or min(raters) < _PAIR:
        raise ValueError(f"Each item needs the same number of raters, at least two; got {sorted(raters)!r}.")
    number = raters.pop()
    shares = [sum(column) / (len(counts) * number) for column in zip(*counts, strict=True)]
    expected = math.fsum(share * share for share in shares)
    if expected == 1:
        return None
    agreeing = [(sum(count * count for count in item) - number) / (number * (number - 1)) for item in counts]
    return (sum(agreeing) / len(agreeing) - expected) / (1 - expected)
