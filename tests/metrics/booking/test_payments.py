import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.metrics.booking.payments import claimed_receipts, stated_amounts, whole_kes


@pytest.mark.parametrize(("value", "amount"), [(3500, 3500), (3500.0, 3500), (1, 1)])
def test_a_whole_amount_is_read(value: object, amount: int) -> None:
    assert whole_kes(value) == amount


@pytest.mark.parametrize(
    "value", [0, -1, 3500.5, True, "3500", None, float("nan"), float("inf"), float("-inf"), [], 10**400 * 0]
)
def test_anything_else_is_no_amount(value: object) -> None:
    assert whole_kes(value) is None


@given(st.floats() | st.integers())
def test_no_number_makes_it_raise(value: float) -> None:
    amount = whole_kes(value)
    assert amount is None or amount == value


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("bei ni KES 3,500.", {3500}),
        ("Ksh 800 au KSH. 1500", {800, 1500}),
        ("KES3,500.00", {3500}),
        ("KES 3,500.50", {0}),
        ("saa 14:00, simu 0712345432", set()),
    ],
)
def test_amounts_in_words_are_read(text: str, amounts: set[int]) -> None:
    assert stated_amounts(text) == amounts


@pytest.mark.parametrize(
    ("text", "receipts"),
    [
        ("Risiti ya M-Pesa: TKM6B1Y4DS.", {"TKM6B1Y4DS"}),
        ("risiti ni TKL4X8Q2ZP, asante", {"TKL4X8Q2ZP"}),
        ("PesaPal reference b945e4af-80a5-4ec1-8706-e03f8332fb04", {"B945E4AF-80A5-4EC1-8706-E03F8332FB04"}),
        ("Your receipt no. ABC12345", {"ABC12345"}),
        ("risiti itatumwa kesho saa nane mchana (14:00)", set()),
        ("KES 3,500, simu +254712345432, 2026-04-26", set()),
        ("TAFADHALI NISAIDIE HARAKA", set()),
    ],
)
def test_receipts_in_words_are_read(text: str, receipts: set[str]) -> None:
    assert claimed_receipts(text) == receipts
