"""Published worked examples, scikit-learn as the oracle, and what must hold of every ranking."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from ratiba_action.metrics.ranking import (
    Gain,
    average_precision,
    ideal_ranking,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)

# https://en.wikipedia.org/wiki/Discounted_cumulative_gain, section "Example": D7 and D8 were not found.
WIKIPEDIA = {"D1": 3.0, "D2": 2.0, "D3": 3.0, "D4": 0.0, "D5": 1.0, "D6": 2.0, "D7": 3.0, "D8": 2.0}
FOUND = ["D1", "D2", "D3", "D4", "D5", "D6"]

JUDGED = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 4).map(float), min_size=2).filter(
    lambda judgements: any(judgements.values())
)


def relevant_at(*ranks: int) -> tuple[list[str], dict[str, float]]:
    """A list of ten documents with the relevant ones at these ranks, and their judgements."""
    ranking = [f"d{rank}" for rank in range(1, 11)]
    return ranking, {f"d{rank}": 1.0 for rank in ranks}


def test_ndcg_is_that_of_the_worked_example_whose_ideal_list_holds_what_was_not_found() -> None:
    assert ndcg(FOUND, WIKIPEDIA, 6) == pytest.approx(6.861 / 8.740, abs=5e-4)


def test_the_exponential_gain_is_that_of_the_graded_list_by_hand() -> None:
    # (2^3-1)/log2(2) + (2^2-1)/log2(3) over the two swapped: 8.8928 / 8.8928 for the ideal order.
    judgements = {"a": 3.0, "b": 2.0}
    assert ndcg(["a", "b"], judgements, 2, "exponential") == 1
    assert ndcg(["b", "a"], judgements, 2, "exponential") == pytest.approx((3 + 7 / 1.5849625) / (7 + 3 / 1.5849625))


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [((1, 3, 6, 9, 10), 0.62), ((2, 5, 7), 0.44)],
    ids=["query 1", "query 2"],
)
def test_average_precision_is_that_of_the_textbook(ranks: tuple[int, ...], expected: float) -> None:
    # Croft, Metzler and Strohman, "Search Engines: Information Retrieval in Practice", figure 8.4.
    assert average_precision(*relevant_at(*ranks), 10) == pytest.approx(expected, abs=0.005)


def test_the_mean_of_reciprocal_ranks_is_that_of_the_worked_example() -> None:
    # https://en.wikipedia.org/wiki/Mean_reciprocal_rank: cats at rank 3, torus at 2, virus at 1 give 11/18.
    ranks = [reciprocal_rank(*relevant_at(rank)) for rank in (3, 2, 1)]
    assert sum(ranks) / 3 == pytest.approx(11 / 18)


def test_precision_and_recall_count_the_first_k() -> None:
    ranking, judgements = relevant_at(1, 3, 6, 9, 10)
    assert precision(ranking, judgements, 5) == 2 / 5
    assert recall(ranking, judgements, 5) == 2 / 5
    assert recall(ranking, judgements, 10) == 1


def test_a_short_list_does_not_make_precision_better() -> None:
    assert precision(["a"], {"a": 1.0}, 5) == 1 / 5


def test_a_perfect_list_reaches_1_though_there_are_more_relevant_documents_than_places() -> None:
    judgements = dict.fromkeys("abcdef", 1.0)
    assert average_precision(["a", "b"], judgements, 2) == 1


def test_a_list_of_nothing_scores_0_everywhere() -> None:
    judgements = {"a": 1.0}
    assert [formula([], judgements, 3) for formula in (ndcg, average_precision, precision, recall)] == [0, 0, 0, 0]
    assert reciprocal_rank([], judgements) == 0


def test_a_repeated_document_counts_once_and_keeps_its_place() -> None:
    judgements = {"a": 1.0, "b": 1.0}
    assert precision(["a", "a", "b"], judgements, 3) == 2 / 3
    assert precision(["a", "a", "b"], judgements, 2) == 1 / 2
    assert ndcg(["a", "a", "b"], judgements, 3) == ndcg(["a", "unknown", "b"], judgements, 3)


def test_a_document_of_grade_0_is_like_one_that_nobody_judged() -> None:
    assert reciprocal_rank(["a", "b"], {"a": 0.0, "b": 1.0}) == 1 / 2
    assert recall(["b"], {"a": 0.0, "b": 1.0}, 1) == 1


def test_a_first_relevant_document_beyond_k_is_not_found() -> None:
    assert reciprocal_rank(*relevant_at(4), k=3) == 0


@given(JUDGED, st.integers(1, 12), st.sampled_from(["linear", "exponential"]), st.randoms())
def test_ndcg_agrees_with_scikit_learn(judgements: dict[str, float], k: int, gain: Gain, random: object) -> None:
    ranking = sorted(judgements)
    random.shuffle(ranking)  # type: ignore[attr-defined]  # Hypothesis types its Random as object
    grades = np.array([[judgements[document] for document in ranking]])
    truth = grades if gain == "linear" else 2**grades - 1
    scores = -np.arange(len(ranking), dtype=float)[None, :]
    assert ndcg(ranking, judgements, k, gain) == pytest.approx(ndcg_score(truth, scores, k=k))


@given(JUDGED, st.randoms())
def test_average_precision_of_a_whole_list_agrees_with_scikit_learn(
    judgements: dict[str, float], random: object
) -> None:
    ranking = sorted(judgements)
    random.shuffle(ranking)  # type: ignore[attr-defined]  # the same
    relevant = np.array([judgements[document] > 0 for document in ranking])
    expected = average_precision_score(relevant, -np.arange(len(ranking)))
    assert average_precision(ranking, judgements, len(ranking)) == pytest.approx(expected)


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3).map(float), min_size=1).filter(
        lambda judgements: any(judgements.values())
    ),
    st.integers(1, 5),
)
def test_no_order_of_the_documents_is_better_than_the_ideal_one(judgements: dict[str, float], k: int) -> None:
    best = ideal_ranking(judgements)
    for formula in (ndcg, average_precision, precision, recall):
        values = [formula(order, judgements, k) for order in permutations(judgements)]
        assert max(values) == pytest.approx(formula(best, judgements, k))
        assert all(0 <= value <= 1 + 1e-12 for value in values)
    assert ndcg(best, judgements, k) == pytest.approx(1)
