import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.privacy.phone_numbers import find_phones, normalise_phone


@pytest.mark.parametrize(
    "spelling",
    ["0712345432", "0712 345 432", "0712-345-432", "+254712345432", "+254 712 345 432", "254712345432",
     "254 712-345-432", "712345432", "+254 (0) 712 345 432", "(0712) 345.432"],
)  # fmt: skip
def test_every_usual_spelling_is_the_same_number(spelling: str) -> None:
    assert normalise_phone(spelling) == "+254712345432"


def test_numbers_of_the_newer_range_are_read_too() -> None:
    assert normalise_phone("0110 123 456") == "+254110123456"


@pytest.mark.parametrize(
    "value", ["", "0612345432", "07123454321", "+1 712 345 432", "0712 345", None, True, 7.5, "٠٧١٢٣٤٥٤٣٢"]
)
def test_anything_else_is_no_kenyan_mobile_number(value: object) -> None:
    assert normalise_phone(value) is None


def test_numbers_are_found_in_a_message_and_amounts_are_not() -> None:
    text = "Tumia 0734 559 021 au +254-712-345-432, si KES 3,500 wala TKL4X8Q2ZP 12345678901234"
    assert find_phones(text) == {"+254734559021", "+254712345432"}


@given(st.text(alphabet="+0123456789 -()."))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise_phone(text)
    assert once is None or normalise_phone(once) == once
