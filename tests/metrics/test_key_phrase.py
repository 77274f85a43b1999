"""Coverage of key phrases, whatever their case, diacritics and punctuation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.key_phrase import missing_phrases
from ratiba_action.metrics.registry import load_metric
from ratiba_action.model.scenario import Expectation
from tests.support.cases import case, exchange


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Tunafungua saa TATU asubuhi.", "saa tatu"),
        ("Our café is open", "Cafe"),
        ("It costs KES 3,500.", "3,500"),
        ("Nyama ya ng’ombe", "ng'ombe"),
        ("Free Wi-Fi here", "wi fi"),
        ("Imethibitishwa ✓", "✓"),
    ],
)
def test_a_phrase_is_found_in_other_spellings(text: str, phrase: str) -> None:
    assert missing_phrases(text, [phrase]) == ()


@pytest.mark.parametrize(
    ("text", "phrase"),
    [("It is unrefundable", "refund"), ("kesho saa tatu", "saa kesho"), ("saa na tatu", "saa tatu"), ("", "saa")],
)
def test_part_of_a_word_another_order_or_a_gap_is_no_phrase(text: str, phrase: str) -> None:
    assert missing_phrases(text, [phrase]) == (phrase,)


async def test_the_score_is_the_share_that_is_mentioned_and_names_the_rest() -> None:
    expect = Expectation(key_phrases=("deposit", "24 hours", "refund"))
    metric = load_metric("KeyPhraseMetric")
    score = await metric.measure(case(exchange("?", "A deposit; refunds within 24 hours", expect=expect)), 0.8)
    assert score.value == pytest.approx(2 / 3)
    assert not score.passed
    assert "not mentioned: 'refund'" in score.reason


async def test_without_key_phrases_nothing_is_measured() -> None:
    with pytest.raises(ConfigurationError, match=r"expect\.key_phrases"):
        await load_metric("KeyPhraseMetric").measure(case(exchange("?", "Karibu")), 0.8)


@given(st.text(), st.lists(st.text(min_size=1).filter(str.strip), min_size=1))
def test_a_text_that_ends_with_all_phrases_lacks_none(text: str, phrases: list[str]) -> None:
    assert missing_phrases("\n".join([text, *phrases]), phrases) == ()
