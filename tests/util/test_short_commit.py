"""A commit as people see it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.privacy.masking import Redactor
from ratiba_action.util.text import short_commit

_DIGITS_FIRST = st.from_regex(r"8[0-9]{6,8}[a-f][0-9a-f]{20}", fullmatch=True)


@pytest.mark.parametrize(
    ("commit", "short"),
    [("c0ffee0ddba11" * 4, "c0ffee0"), ("1234567a89" * 4, "1234567a"), ("12345678" * 5, "12345678" * 5), ("", "")],
)
def test_it_has_seven_characters_or_goes_on_to_its_first_letter(commit: str, short: str) -> None:
    assert short_commit(commit) == short


@given(commit=_DIGITS_FIRST)
def test_one_that_begins_with_digits_is_not_masked_as_a_phone_number(commit: str) -> None:
    sentence = f"Nothing differs from the base commit {short_commit(commit)}, so nothing runs."
    assert Redactor(()).text(sentence) == sentence
