"""How texts are compared, whatever form of Unicode they come in."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.util.comparable import comparable, has_text, has_word, place_of


@pytest.mark.parametrize(
    ("written", "compared"),
    [
        ("cafe\u0301", "café"),
        ("100\u00a0EUR", "100 eur"),
        ("100\u202f000", "100 000"),
        ("one\n\ttwo", "one two"),
        ("\uff11\uff12 \ufb01n", "12 fin"),
        ("\u0661\u0660\u0660 EUR, \u096a\u0968", "100 eur, 42"),
        ("pass\x00word\x7f", "password"),
        ("pass\u200bword", "password"),
        ("re\u00adfund", "refund"),
        ("\ufeffHi", "hi"),
        ("don\u2019t", "don't"),
        ("\u22125 °C", "-5 °c"),
        ("e\u2011mail", "e-mail"),
        ("STRASSE straße", "strasse strasse"),
        ("\u0130PTAL I\u0307ptal i\u0307ptal", "iptal iptal iptal"),
        ("ISPARTA \u0131sparta", "isparta isparta"),
        (
            "\u0633\u0640\u0640\u0644\u0627\u0645 \ufeb3\ufefc\ufee1",
            "\u0633\u0644\u0627\u0645 \u0633\u0644\u0627\u0645",
        ),
        ("pass\ufff9word", "password"),
        ("100\u2800EUR", "100 eur"),
        ("\u00bd, \u0663\u066b\u0665, \u0665\u0660\u066a", "1/2, 3.5, 50%"),
        ("\u2764\ufe0f", "\u2764"),
        (" no ", " no "),
        ("\u03b1\u0345\u0399", "\u03b1\u03b9\u03b9"),
    ],
)
def test_a_text_is_compared_in_one_form(written: str, compared: str) -> None:
    assert comparable(written) == compared
    assert comparable(compared) == compared


@pytest.mark.parametrize(
    ("text", "word", "whole"),
    [
        ("The answer is A.", "a", True),
        ("read about it", "A", False),
        ("**A**", "A", True),
        ("yesterday", "yes", False),
        ("Yes, it is", "yes", True),
        ("nimelipa leo", "lipa", False),
        ("lipa leo", "lipa", True),
        ("ng'ombe wetu", "ng", False),
        ("I can\u2019t", "can", False),
        ("Nairobi\u2019s best", "nairobi", True),
        ("l\u2019hôtel", "hôtel", True),
        ("KES 42.50", "42", False),
        ("KES 3,500", "500", False),
        ("It costs 42.", "42", True),
        ("cafe\u0301s", "café", False),
        ("un cafe\u0301!", "café", True),
        ("caféine", "caf", False),
        ("हिन्दी", "हिन", False),
        ("谢谢你", "谢谢", True),
        ("so you can not go", "can not", True),
        ("a cat, the cattle", "cat", True),
        ("sk-12", "sk-1", False),
        ("user_id", "user", True),
    ],
)
def test_a_word_has_limits(text: str, word: str, *, whole: bool) -> None:
    assert has_word(text, word) is whole
    assert not whole or has_text(text, word)


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("an un cafe\u0301 noir", "CAFÉ", "cafe\u0301 noir"),
        ("is 100\u00a0EUR", "100 EUR", "100\u00a0EUR"),
        ("plain text", "text", "text"),
        ("plain", "text", "n"),
    ],
)
def test_a_value_is_found_in_the_text_as_it_was_written(text: str, value: str, shown: str) -> None:
    assert text[place_of(text, value) :] == shown


def test_thousands_of_marks_on_one_letter_take_no_longer_than_others() -> None:
    assert has_text("e" + "\u0301" * 100_000 + " end", "END")


@given(st.text(max_size=30), st.text(max_size=10), st.text(max_size=30))
def test_a_text_has_what_it_is_made_of(before: str, value: str, after: str) -> None:
    plain = unicodedata.normalize("NFKC", value)
    assert has_text(f"{before} {plain} {after}", plain)
    assert comparable(comparable(value)) == comparable(value)
