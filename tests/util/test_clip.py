"""Texts that are clipped before they are masked: no part of a word or a number is left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.util.text import clip, cut_before

WHOLE = [
    "sk-live-0123456789abcdef",
    "+254 712 345 678",
    "+254712345678",
    "0712-345-678",
    "(020) 7946-0958",
    "wanjiku.kamau@example.co.ke",
]


@pytest.mark.parametrize("whole", WHOLE)
@pytest.mark.parametrize("before", range(20, 42))
def test_what_is_at_the_edge_is_there_as_a_whole_or_not_at_all(whole: str, before: int) -> None:
    text = f"{'na ' * 20}"[:before].rstrip() + f" {whole} {'ya ' * 20}"
    shown = clip(text, 40)
    assert len(shown) <= 40
    assert whole in shown or not any(character.isdigit() for character in shown)
    assert whole in shown or "wanj" not in shown


@pytest.mark.parametrize("whole", ["+254 712 345 678", "0712-345-678", "3,500", "2026-04-25T10:00", "14.50"])
def test_a_number_is_not_cut_between_its_groups(whole: str) -> None:
    text = f"bei {whole} sasa"
    for at in range(4, len(text)):
        assert cut_before(text, at) in (3, 4) or cut_before(text, at) >= 4 + len(whole)


def test_a_word_that_is_longer_than_the_limit_is_left_out() -> None:
    assert clip("x" * 190 + "sk-live-0123456789abcdef") == "…"
    assert clip("got " + "x" * 300) == "got…"


def test_compact_json_and_scripts_without_spaces_are_cut_between_their_parts() -> None:
    assert clip('{"a":"one","key":"sk-live-0123456789abcdef"}', 30) == '{"a":"one","key":"…'
    assert clip("予約は明日の午後二時です" * 10, 20) == "予約は明日の午後二時です予約は明日の午…"


@given(st.text(), st.integers(2, 50))
def test_a_clipped_text_is_short_and_the_beginning_of_the_text(text: str, limit: int) -> None:
    shown, flat = clip(text, limit), " ".join(text.split())
    assert len(shown) <= limit
    assert shown == flat or flat.startswith(shown.removesuffix("…"))
