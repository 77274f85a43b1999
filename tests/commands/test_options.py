"""Values of options that are no input of the action."""

from datetime import timedelta

import pytest

from ratiba_action.commands.options import count_option, length_of_time, parse_option
from ratiba_action.errors import UsageError
from ratiba_action.settings.input_values import parse_count


def test_a_value_is_parsed() -> None:
    assert parse_option("--concurrency", "4", parse_count) == 4


@pytest.mark.parametrize(
    ("text", "maximum", "minimum", "allowed"),
    [
        ("0", None, 1, "a whole number from 1"),
        ("501", 500, 1, "a whole number from 1 to 500"),
        ("-1", 500, 0, "a whole number from 0 to 500"),
        ("", 500, 0, "a whole number from 0 to 500"),
        ("٣", 500, 1, "a whole number from 1 to 500"),
    ],
)
def test_a_wrong_value_is_reported_with_its_option_and_what_is_allowed(
    text: str, maximum: int | None, minimum: int, allowed: str
) -> None:
    with pytest.raises(UsageError) as caught:
        count_option("--runs", text, maximum, minimum)
    assert str(caught.value) == f"--runs is {text!r}. Give {allowed}."


def test_a_number_of_more_digits_than_python_reads_is_reported_like_any_other() -> None:
    with pytest.raises(UsageError, match=r"Give a whole number from 1 to 500\.$"):
        count_option("--runs", "9" * 5_000, 500)


@pytest.mark.parametrize(
    ("text", "length"),
    [("90m", timedelta(minutes=90)), ("24h", timedelta(days=1)), ("7d", timedelta(days=7)), ("2w", timedelta(days=14))],
)
def test_a_length_of_time_has_a_unit(text: str, length: timedelta) -> None:
    assert length_of_time(text) == length


@pytest.mark.parametrize("text", ["0d", "2y", "d", "1.5h", "٢w", " 7d"])
def test_a_length_of_time_that_is_none_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="90m, 24h, 7d or 2w"):
        length_of_time(text)
