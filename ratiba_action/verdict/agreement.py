"""Agreement of two raters beyond chance, and what a judge's thresholds would do.

Cohen's kappa, unweighted (Cohen 1960) and weighted (Cohen 1968), and Gwet's AC1 and AC2; what thresholds
would do to conversations that people labelled.
"""

import math
from collections.abc import Callable, Sequence
from itertools import takewhile
from statistics import quantiles

from ratiba_action.model.comparison import Agreement, ScorePair
from ratiba_action.model.measurement import CriterionThreshold, JudgeThresholds

_BEST = 10
Disagreement = Callable[[int, int], float]
"""Weight of the first rater's category against the second's, by their positions; 0 where they agree."""


def unweighted(first: int, second: int) -> float:
    """Every disagreement weighs the same (Cohen 1960)."""
    return float(first != second)


def quadratic(first: int, second: int) -> float:
    """A disagreement weighs the square of its distance (Fleiss and Cohen 1973)."""
    return float((first - second) ** 2)


def contingency_table(ratings: Sequence[tuple[int, int]], categories: Sequence[int]) -> list[list[int]]:
    """How often the raters gave each pair of categories; rows are the first rater's.

    Args:
        ratings: what the first and the second rater gave each item.
        categories: all that could be given, in order, whether or not they were.

    Raises:
        ValueError: a rating is none of the categories, or a category is listed twice.
    """
    position = {category: number for number, category in enumerate(categories)}
    if len(position) != len(categories):
        raise ValueError(f"The categories {list(categories)!r} list one twice.")
    table = [[0] * len(categories) for _ in categories]
    for first, second in ratings:
        if first not in position or second not in position:
            raise ValueError(f"The rating {(first, second)!r} is outside the categories {list(categories)!r}.")
        table[position[first]][position[second]] += 1
    return table


def cohen_kappa(table: Sequence[Sequence[float]], disagreement: Disagreement = unweighted) -> float | None:
    """Kappa of a square table of counts or shares: 1 minus observed by expected disagreement.

    Args:
        table: rows are the first rater's categories, columns the second's.
        disagreement: weight of each cell.

    Returns:
        -1 to 1, or None where it is undefined: no items, or chance alone allows no disagreement because both raters
        used one and the same category. That is never reported as perfect agreement.

    Raises:
        ValueError: the table is not square, or holds a negative number.
    """
    size = len(table)
    if any(len(row) != size for row in table) or any(cell < 0 for row in table for cell in row):
        raise ValueError(f"A table of {size} categories needs {size} columns and no negative count: {table!r}.")
    rows = [sum(row) for row in table]
    columns = [sum(row[number] for row in table) for number in range(size)]
    total = sum(rows)
    cells = [(row, column) for row in range(size) for column in range(size)]
    expected = sum(disagreement(row, column) * rows[row] * columns[column] for row, column in cells)
    if not expected:
        return None
    observed = sum(disagreement(row, column) * table[row][column] for row, column in cells)
    return 1 - observed * total / expected


def judges_agreement(pairs: Sequence[ScorePair]) -> Agreement:
    """How far two judges agree on the conversations that both scored.

    The unweighted kappa compares pass with fail at each pair's threshold, the quadratic one the scores from 0 to 10,
    rounded to whole ones.
    """
    if not pairs:
        return Agreement(0)
    decisions = [(int(pair.first >= pair.threshold), int(pair.second >= pair.threshold)) for pair in pairs]
    categories = [(_grade(pair.first), _grade(pair.second)) for pair in pairs]
    return Agreement(
        pairs=len(pairs),
        same_side=sum(first == second for first, second in decisions) / len(decisions),
        unweighted=cohen_kappa(contingency_table(decisions, (0, 1))),
        quadratic=cohen_kappa(contingency_table(categories, range(_BEST + 1)), quadratic),
    )


def interpret_kappa(kappa: float | None) -> str:
    """A kappa in words, by the bands of Landis and Koch 1977; ``undefined`` for None."""
    if kappa is None:
        return "undefined"
    if kappa < 0:
        return "poor"
    bands = ((0.20, "slight"), (0.40, "fair"), (0.60, "moderate"), (0.80, "substantial"))
    return next((word for highest, word in bands if kappa <= highest), "almost perfect")


def _grade(score: float) -> int:
    return round(score * _BEST)


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


GOOD = 4
"""Least label of a conversation that is good enough."""
FALSE_FAILURES = 0.05
"""Share of the good conversations that a suggested threshold may fail, and the chance that it fails more of them."""
MIN_GOOD = math.ceil(math.log(FALSE_FAILURES) / math.log1p(-FALSE_FAILURES))
"""Good conversations without which no threshold is suggested: 59, of which not one may fail."""


def thresholds_of(
    judge: str, criterion: str, metric: str, rated: Sequence[tuple[float, int]], *, golden: Sequence[float]
) -> JudgeThresholds:
    """Thresholds from 0.05 to 1, and the highest one that is proven to fail at most 5 % of the good conversations.

    Proven: the exact one-sided 95 % bound of the share (Clopper and Pearson 1934) is at most 5 %, at this threshold and
    at every lower one. Testing from the lowest up and stopping at the first that fails keeps the level (fixed
    sequence; Angelopoulos and others 2021, Learn then Test, section 2).

    Args:
        metric: what its scores on the golden set go by.
        rated: the judge's score, 0 to 1, and a person's label of each conversation.
    """
    found = [(score, label >= GOOD) for score, label in rated]
    rows = tuple(_at(step / 20, found) for step in range(1, 21))
    good = sum(is_good for _, is_good in found)
    proven = takewhile(lambda row: _is_proven(row.threshold, found), rows)
    suggested = max((row.threshold for row in proven), default=None)
    return JudgeThresholds(judge, criterion, metric, len(rated), good, rows, suggested, five_numbers(golden))


def _is_proven(threshold: float, rated: Sequence[tuple[float, bool]]) -> bool:
    """Whether so few failures would be a rarity if the threshold failed 5 % of the good conversations."""
    from scipy.stats import binom  # half a second, only when thresholds are compared

    scores = [score for score, is_good in rated if is_good]
    failed = sum(score < threshold for score in scores)
    return bool(scores) and float(binom.cdf(failed, len(scores), FALSE_FAILURES)) <= FALSE_FAILURES


def _at(threshold: float, rated: Sequence[tuple[float, bool]]) -> CriterionThreshold:
    failed = [is_good for score, is_good in rated if score < threshold]
    good, bad = sum(is_good for _, is_good in rated), sum(not is_good for _, is_good in rated)
    wrongly = sum(failed)
    return CriterionThreshold(
        threshold,
        (len(failed) - wrongly) / len(failed) if failed else None,
        (len(failed) - wrongly) / bad if bad else None,
        wrongly / good if good else None,
    )


def five_numbers(values: Sequence[float]) -> tuple[float, ...]:
    """Minimum, quartiles (linear interpolation) and maximum; empty without values."""
    if len(values) <= 1:
        return tuple(values) * 5
    return (min(values), *quantiles(values, n=4, method="inclusive"), max(values))
