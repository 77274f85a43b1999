"""Values of options that are no input of the action."""

import pytest

from ratiba_action.commands.options import parse_option
from ratiba_action.errors import UsageError
from ratiba_action.settings.input_values import parse_count


def test_a_value_is_parsed() -> None:
    assert parse_option("--concurrency", "4", parse_count) == 4


def test_a_wrong_value_is_reported_with_its_option_and_what_is_allowed() -> None:
    with pytest.raises(UsageError) as caught:
        parse_option("--concurrency", "0", parse_count)
    assert str(caught.value) == "--concurrency is '0'. Give a whole number from 1."
