"""What stands for money and for JSON."""

import math
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

_EXACT = Context(prec=800)
"""Digits for the sum of any floats: they range from 1e308 to the 17th digit of 1e-324."""


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
    total = reduce(_EXACT.add, (Decimal(str(float(value))) for value in values))
    return float(Fraction(total) / len(values))


Usd = Decimal
"""An amount of US dollars; never a float."""

JsonObject = Mapping[str, Any]
"""A decoded JSON object; treated as read-only."""
