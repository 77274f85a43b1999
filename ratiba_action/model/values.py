"""What stands for money and for JSON."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of written numbers, computed exactly and rounded once.

    0.1, 0.2 and 0.3 have the mean 0.2, not the float beside it.

    Args:
        values: at least one number; one that is none makes the mean none.
    """
    if not all(map(math.isfinite, values)):
        return math.nan
    if len(values) == 1:
        return float(values[0])
    return float(sum((Fraction(str(float(value))) for value in values), Fraction(0)) / len(values))


Usd = Decimal
"""An amount of US dollars; never a float."""

JsonObject = Mapping[str, Any]
"""A decoded JSON object; treated as read-only."""
