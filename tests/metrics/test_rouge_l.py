"""ROUGE-L agrees with Lin's worked example and with the package rouge-score."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from ratiba_action.metrics.registry import load_metric
from ratiba_action.metrics.rouge_l import MAX_WORDS, rouge_l
from ratiba_action.util.text import words
from tests.support.cases import answered

SENTENCES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "massage", "kesho", "saa"]), max_size=20).map(tuple)


@pytest.mark.parametrize(
    ("candidate", "expected"), [("police kill the gunman", 3 / 4), ("the gunman kill police", 2 / 4)]
)
async def test_the_worked_example_of_lin(candidate: str, expected: float) -> None:
    score = await load_metric("RougeLMetric").measure(answered((candidate, "police killed the gunman")), 0.5)
    assert score.value == expected


@given(SENTENCES, SENTENCES)
def test_it_agrees_with_rouge_score(candidate: tuple[str, ...], reference: tuple[str, ...]) -> None:
    oracle = RougeScorer(["rougeL"]).score(" ".join(reference), " ".join(candidate))["rougeL"].fmeasure
    assert rouge_l(candidate, reference) == pytest.approx(oracle)


@given(st.text(), st.text())
def test_it_is_symmetric_and_within_0_and_1(one: str, other: str) -> None:
    left, right = words(one), words(other)
    assert 0 <= rouge_l(left, right) == rouge_l(right, left) <= 1


@given(SENTENCES.filter(bool))
def test_a_text_is_1_like_itself(text: tuple[str, ...]) -> None:
    assert rouge_l(text, text) == 1


def test_a_reply_without_end_is_cut_and_still_measured() -> None:
    endless = ("maji",) * (MAX_WORDS * 40)
    assert rouge_l(endless, ("maji",)) == 2 / (MAX_WORDS + 1)


async def test_the_mean_of_the_turns_names_the_lowest() -> None:
    score = await load_metric("RougeLMetric").measure(answered(("a b", "a b"), ("x", None), ("c", "d")), 0.5)
    assert score.value == 0.5
    assert score.reason.startswith("turn 3: 0.00, the reply is 'c'")
