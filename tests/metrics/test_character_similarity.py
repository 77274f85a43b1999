"""Texts that are written alike are near 1; scikit-learn counts the same n-grams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from ratiba_action.metrics.character_similarity import character_similarity
from ratiba_action.metrics.registry import load_metric, metric_problems
from tests.support.cases import answered

LETTERS = st.text(alphabet="abcde ", min_size=1).filter(str.strip)


@given(LETTERS, LETTERS)
def test_it_agrees_with_scikit_learn(one: str, other: str) -> None:
    counts = CountVectorizer(analyzer="char_wb", ngram_range=(3, 3)).fit_transform([one, other])
    assert character_similarity(one, other) == pytest.approx(cosine_similarity(counts)[0, 1])


@given(st.text(), st.text(), st.integers(1, 10))
def test_it_is_symmetric_and_within_0_and_1(one: str, other: str, size: int) -> None:
    assert 0 <= character_similarity(one, other, size) == character_similarity(other, one, size) <= 1


@given(st.text(), st.integers(1, 10))
def test_a_text_is_1_like_itself(text: str, size: int) -> None:
    assert character_similarity(text, text, size) == 1


async def test_a_misspelt_reply_is_nearer_than_another_one() -> None:
    metric = load_metric("CharacterSimilarityMetric")
    near = await metric.measure(answered(("Karibu Ratba Spa!", "Karibu Ratiba Spa")), 0.5)
    far = await metric.measure(answered(("Samahani, tumefunga", "Karibu Ratiba Spa")), 0.5)
    assert near.value > 0.8
    assert far.value < 0.2


def test_a_size_that_cannot_be_is_refused_when_the_scenario_is_loaded() -> None:
    (problem,) = metric_problems("CharacterSimilarityMetric", {"size": 0})
    assert "size" in problem
