"""The mean of written numbers: 0.1, 0.2 and 0.3 have the mean 0.2, not the float beside it."""

import math
from collections.abc import Sequence
from fractions import Fraction


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, computed exactly and rounded once.

    Args:
        values: at least one number; one that is none makes the mean none.
    """
    if not all(map(math.isfinite, values)):
        return math.nan
    return float(sum((Fraction(str(value)) for value in values), Fraction(0)) / len(values))
