"""What hides a number is read through, and what is not masked stays as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.privacy.masking import Redactor
from ratiba_action.privacy.plain_text import plain_text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("٠٧\N{ZERO WIDTH SPACE}１", "071"),
        ("a\N{NO-BREAK SPACE}b\N{EN DASH}c", "a b-c"),
        (r"\u0040 \\u0040 \\\u0040\n", "@ @ @ "),
        ("%40 %C5%A9 %ff", "@ ũ %ff"),
        ("a&#64;b&nbsp;c&", "a@b c&"),
    ],
)
def test_a_text_is_read_in_one_form(written: str, read: str) -> None:
    assert plain_text(written).read == read


@given(st.text(), st.text())
def test_every_character_that_is_read_has_its_place_in_what_was_written(before: str, after: str) -> None:
    plain = plain_text(f"{before}{after}")
    assert len(plain.read) == len(plain.starts) == len(plain.ends)
    assert all(start < end for start, end in zip(plain.starts, plain.ends, strict=True))
    assert list(plain.starts) == sorted(plain.starts)


def test_around_a_mask_the_text_stays_as_it_was_written() -> None:
    text = "“Karibu” – 38.5 ℃ … ‘nane’ \N{NO-BREAK SPACE} ½: 0712\N{ZERO WIDTH SPACE}345432 — asante…"
    assert Redactor().text(text) == text.replace("0712\N{ZERO WIDTH SPACE}345432", "+254***432")
