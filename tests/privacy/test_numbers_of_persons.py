"""Which bare numbers are taken for a person's, and which never are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.privacy.masking import mask_number

MOBILE = st.builds(lambda first, rest: int(f"{first}{rest:08d}"), st.sampled_from([1, 7]), st.integers(0, 10**8 - 1))
THINGS = (
    *("amount", "total_kes", "price_cents", "balance", "file_size", "sizeBytes", "input_tokens", "count"),
    *("id", "customer_id", "phone_id", "created_at", "epoch", "timestamp_ms", "durationSeconds", "seq"),
)


@given(MOBILE, st.text())
def test_a_mobile_number_with_its_country_code_is_masked_under_any_name(local: int, name: str) -> None:
    assert mask_number(name, int(f"254{local}")) == f"+254***{str(local)[-3:]}"


@given(MOBILE, st.sampled_from(["phone", "customerPhone", "msisdn", "payer", "", "to", "national_id"]))
def test_so_is_one_without_it_where_the_name_is_not_that_of_a_thing(local: int, name: str) -> None:
    assert mask_number(name, local) == mask_number(name, float(local)) == f"+254***{str(local)[-3:]}"


@given(st.integers(-(10**11), 10**11), st.sampled_from(THINGS))
def test_amounts_sizes_ids_and_times_stay(number: int, name: str) -> None:
    assert mask_number(name, number) == number


@given(st.integers(10**12, 10**19), st.text())
def test_times_in_small_units_stay(number: int, name: str) -> None:
    assert mask_number(f"{name} at", number) == number


@pytest.mark.parametrize("number", [0, 5, 1500, 150000, 99999999, 1777000000, -712345678, 0.25, float("inf"), True])
def test_a_number_that_is_no_phone_number_stays_under_a_name_that_tells_nothing(number: float) -> None:
    assert mask_number("n", number) is number


@pytest.mark.parametrize(
    ("name", "number", "masked"), [("national_id", 12345678, "***"), ("guest_phone", 447700900123, "+***123")]
)
def test_a_document_and_a_foreign_phone_are_known_by_their_names(name: str, number: int, masked: str) -> None:
    assert mask_number(name, number) == masked


@pytest.mark.parametrize(
    ("name", "number", "masked"),
    [
        ("customer", 33445566, "***"),
        ("customer", 254722345678, "+254***678"),
        ("paid", 145000, 145000),
        ("amount_kes", 1500000, 1500000),
        ("paid_by", 722345678, "+254***678"),
        ("guests", 40, 40),
    ],
)
def test_strictly_a_long_number_stays_only_under_the_name_of_a_thing(
    name: str, number: int, masked: float | str
) -> None:
    assert mask_number(name, number, strict=True) == masked
