"""Means of written numbers."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.values import mean


@pytest.mark.parametrize(("values", "expected"), [([0.1, 0.2, 0.3], 0.2), ([0.7], 0.7), ([1e300, 1.0, -1e300], 1 / 3)])
def test_a_mean_is_that_of_the_numbers_as_they_are_written(values: list[float], expected: float) -> None:
    assert mean(values) == expected


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, max_value=1e300, min_value=-1e300), min_size=1))
def test_a_mean_is_rounded_once(values: list[float]) -> None:
    assert mean(values) == float(sum(Fraction(str(value)) for value in values) / len(values))


def test_a_number_that_is_none_makes_the_mean_none() -> None:
    assert math.isnan(mean([0.5, math.nan]))
