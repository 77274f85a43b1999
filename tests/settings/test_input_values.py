from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.settings.input_values import parse_count, parse_flag, parse_folder, parse_usd


@pytest.mark.parametrize(
    "text", ["", "-1", "-0", "+1", "NaN", "-inf", "20 USD", "$20", "1e3", "1_000", "1,000", ".5", "5.", "٢٠", "0x10"]
)
def test_a_budget_is_a_plain_amount_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match="US dollars"):
        parse_usd(text)


@given(st.decimals(min_value=0, max_value=1_000_000, allow_nan=False, places=4))
def test_any_plain_amount_is_read_exactly(amount: Decimal) -> None:
    assert parse_usd(str(amount)) == amount


@pytest.mark.parametrize("text", ["on", "tru", "", "2", "false!"])
def test_a_boolean_is_spelled_out(text: str) -> None:
    with pytest.raises(ValueError, match="true or false"):
        parse_flag(text)


@pytest.mark.parametrize("text", ["0", "51", "-1", "1.5", "٣", "", "9" * 5_000])
def test_a_count_is_a_plain_number_within_its_bound(text: str) -> None:
    with pytest.raises(ValueError, match="from 1 to 50"):
        parse_count(text, maximum=50)
    assert parse_count("50", maximum=50) == 50


@pytest.mark.parametrize("text", ["/etc", "../up", "a/../../b", "a\\..\\b"])
def test_a_folder_stays_inside_the_repository(text: str) -> None:
    with pytest.raises(ValueError, match="inside the repository"):
        parse_folder(text)
