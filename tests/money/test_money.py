"""Amounts of US dollars: how they are rounded and shown."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.money.pricing import is_exact_usd, round_up, show_usd


def test_an_amount_that_could_be_rounded_in_a_sum_is_not_exact() -> None:
    assert [is_exact_usd(Decimal(text)) for text in ("1E-12", "0", "999999999999")] == [True] * 3
    assert [is_exact_usd(Decimal(text)) for text in ("1E-13", "-1", "1E+12", "NaN", "Infinity", "1E+40")] == [False] * 6


@given(st.decimals(min_value=0, max_value=1000, places=20))
def test_rounding_never_favours_the_budget_and_gives_an_exact_amount(amount: Decimal) -> None:
    rounded = round_up(amount)
    assert is_exact_usd(rounded)
    assert 0 <= rounded - amount < Decimal("1E-12")


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "$0.00"),
        ("20", "$20.00"),
        ("1E+2", "$100.00"),
        ("0.0012300", "$0.0012"),
        ("0.03463", "$0.0346"),
        ("0.05", "$0.05"),
        ("1234567.891", "$1234567.891"),
        ("0.000000000001", "under $0.0001"),
    ],
)
def test_an_amount_is_shown_with_two_to_four_decimals_and_no_exponent(amount: str, shown: str) -> None:
    assert show_usd(Decimal(amount)) == shown
