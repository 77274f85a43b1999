"""Amounts and words as people read them."""

from decimal import Decimal

import pytest

from ratiba_action.reporting.wording import scenario_dollars


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "0.00"),
        ("0.00001", "< 0.0001"),
        ("0.0099", "0.0099"),
        ("0.0134", "0.0134"),
        ("0.5", "0.5000"),
        ("12.345", "12.34"),
    ],
)
def test_costs_of_scenarios_can_be_compared_below_and_above_a_cent(amount: str, shown: str) -> None:
    assert scenario_dollars(Decimal(amount)) == shown
