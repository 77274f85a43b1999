from fractions import Fraction
from statistics import fmean, pvariance

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from ratiba_action.model.comparison import Agreement, ScorePair
from ratiba_action.verdict.agreement import (
    cohen_kappa,
    contingency_table,
    interpret_kappa,
    judges_agreement,
    quadratic,
    thresholds_of,
)

# Cohen, J. (1968), Weighted kappa: Psychological Bulletin 70, table 1: shares of 200 cases, and his weights. The manual
# of the R package psych quotes the table, both sets of weights and what he reports: .492, .348 and .353.
COHEN_1968 = ((0.44, 0.07, 0.09), (0.05, 0.20, 0.05), (0.01, 0.03, 0.06))
COHEN_WEIGHTS = ((0, 1, 3), (1, 0, 6), (3, 6, 0))
COHEN_UNEQUAL_WEIGHTS = ((0, 1, 4), (1, 0, 6), (2, 2, 0))
# Agresti, A. (1990), Categorical Data Analysis: how 91 husbands (rows) and wives answered on a scale of four.
AGRESTI_1990 = ((7, 7, 2, 3), (2, 8, 3, 7), (1, 5, 4, 9), (2, 8, 9, 14))

RATINGS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=40)


def pair(first: float, second: float, threshold: float = 0.8) -> ScorePair:
    return ScorePair("spa", "swahili_fluency:1.0.0", "ab" * 32, threshold, first, second)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # The worked examples of Wikipedia's article on Cohen's kappa.
        (((20, 5), (10, 15)), 0.4),
        (((45, 15), (25, 15)), 0.1304),
        (((25, 35), (5, 35)), 0.2593),
        # Feinstein and Cicchetti's paradox: high agreement, low kappa.
        (((130, 56), (9, 5)), 0.022),
        (COHEN_1968, 0.492),
        (AGRESTI_1990, 0.129),
    ],
)
def test_unweighted_kappa_is_the_published_one(table: tuple[tuple[float, ...], ...], expected: float) -> None:
    kappa = cohen_kappa(table)
    assert kappa is not None
    assert round(kappa, len(str(expected).partition(".")[2])) == expected


@pytest.mark.parametrize(("weights", "expected"), [(COHEN_WEIGHTS, 0.348), (COHEN_UNEQUAL_WEIGHTS, 0.353)])
def test_weighted_kappa_is_the_one_that_cohen_published(weights: tuple[tuple[int, ...], ...], expected: float) -> None:
    kappa = cohen_kappa(COHEN_1968, lambda first, second: weights[first][second])
    assert kappa is not None
    assert round(kappa, 3) == expected


@given(RATINGS)
def test_quadratic_kappa_is_mean_squares_over_variances(ratings: list[tuple[int, int]]) -> None:
    # Fleiss and Cohen 1973 show that it equals this function of means and variances, which uses no table at all.
    first, second = [Fraction(one) for one, _ in ratings], [Fraction(two) for _, two in ratings]
    spread = pvariance(first) + pvariance(second) + (fmean(first) - fmean(second)) ** 2
    assume(spread > 0)
    squares = sum((one - two) ** 2 for one, two in zip(first, second, strict=True)) / len(ratings)
    kappa = cohen_kappa(contingency_table(ratings, range(1, 6)), quadratic)
    assert kappa is not None
    assert kappa == pytest.approx(float(1 - squares / Fraction(spread)))


@given(RATINGS, st.sampled_from(["unweighted", "quadratic"]))
def test_kappa_does_not_depend_on_who_comes_first_and_stays_in_its_range(
    ratings: list[tuple[int, int]], weighting: str
) -> None:
    swapped = [(second, first) for first, second in ratings]
    tables = [contingency_table(one, range(1, 6)) for one in (ratings, swapped)]
    kappas = [cohen_kappa(table, quadratic) if weighting == "quadratic" else cohen_kappa(table) for table in tables]
    if kappas[0] is None:
        assert kappas[1] is None
    else:
        assert kappas[0] == pytest.approx(kappas[1])
        assert -1 <= kappas[0] <= 1


@given(RATINGS)
def test_categories_that_nobody_used_change_nothing(ratings: list[tuple[int, int]]) -> None:
    narrow, wide = contingency_table(ratings, range(1, 6)), contingency_table(ratings, range(11))
    assert cohen_kappa(narrow, quadratic) == pytest.approx(cohen_kappa(wide, quadratic))
    assert cohen_kappa(narrow) == pytest.approx(cohen_kappa(wide))


def test_one_category_is_undefined_and_never_perfect() -> None:
    assert cohen_kappa(contingency_table([(1, 1)] * 30, (0, 1))) is None
    assert cohen_kappa(contingency_table([(5, 5)] * 30, range(1, 6)), quadratic) is None
    assert cohen_kappa([[0, 0], [0, 0]]) is None
    assert cohen_kappa([]) is None


def test_two_raters_who_agree_on_more_than_one_category_have_kappa_one() -> None:
    assert cohen_kappa(contingency_table([(0, 0), (1, 1)], (0, 1))) == 1


@pytest.mark.parametrize("table", [[[1, 2]], [[1, 2], [3]], [[1, -1], [0, 2]]])
def test_a_table_that_is_none_is_refused(table: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="columns"):
        cohen_kappa(table)


def test_a_rating_outside_the_categories_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(1, 6\)"):
        contingency_table([(1, 6)], range(1, 6))
    with pytest.raises(ValueError, match="twice"):
        contingency_table([], (1, 1))


@pytest.mark.parametrize(
    ("kappa", "word"),
    [
        (None, "undefined"), (-0.01, "poor"), (0.0, "slight"), (0.20, "slight"), (0.21, "fair"), (0.40, "fair"),
        (0.41, "moderate"), (0.60, "moderate"), (0.61, "substantial"), (0.80, "substantial"),
        (0.81, "almost perfect"), (1.0, "almost perfect"),
    ],
)  # fmt: skip
def test_a_kappa_in_words_is_that_of_landis_and_koch(kappa: float | None, word: str) -> None:
    assert interpret_kappa(kappa) == word


def test_two_judges_are_compared_at_the_threshold_and_by_their_grades() -> None:
    # Pass and fail: the table ((1, 1), (0, 2)); grades: squares 0, 4, 1, 0 by the other formula of the test above.
    pairs = [pair(0.5, 0.5), pair(0.7, 0.9), pair(0.8, 0.9), pair(1.0, 1.0)]
    agreement = judges_agreement(pairs)
    assert (agreement.pairs, agreement.same_side) == (4, 0.75)
    assert agreement.unweighted == pytest.approx(0.5)
    first, second = [5, 7, 8, 10], [5, 9, 9, 10]
    spread = pvariance(first) + pvariance(second) + (fmean(first) - fmean(second)) ** 2
    assert agreement.quadratic == pytest.approx(1 - 1.25 / spread)


def test_each_pair_is_held_to_its_own_threshold() -> None:
    agreement = judges_agreement([pair(0.7, 0.75, threshold=0.6), pair(0.7, 0.75, threshold=0.72)])
    assert agreement.same_side == 0.5


def test_without_pairs_nothing_is_claimed() -> None:
    assert judges_agreement([]) == Agreement(0, None, None, None)


def test_judges_who_pass_everything_agree_without_a_kappa() -> None:
    assert judges_agreement([pair(0.9, 0.9)] * 5) == Agreement(5, 1.0, None, None)


@pytest.mark.parametrize(
    ("good", "failing", "proven"),
    [(58, 0, False), (59, 0, True), (92, 1, False), (93, 1, True), (123, 2, False), (124, 2, True)],
)
def test_a_threshold_is_suggested_by_the_exact_bound_of_its_false_failures(
    good: int, failing: int, *, proven: bool
) -> None:
    """The bound of Clopper and Pearson (1934) as statsmodels gives it: at most 5 % with 95 % confidence."""
    rated = [(0.5, 5)] * failing + [(0.9, 4)] * (good - failing) + [(0.1, 1)] * 9
    _, bound = proportion_confint(failing, good, alpha=0.1, method="beta")
    assert (bound <= 0.05) is proven
    found = thresholds_of("judge", "tone", "Metric", rated, golden=())
    assert found.suggested == (0.9 if proven else 0.5 if failing and good >= 59 else None)


def test_of_many_thousand_labels_a_threshold_is_suggested_too() -> None:
    rated = [(0.5, 5)] * 400 + [(0.9, 5)] * 9_600
    assert thresholds_of("judge", "tone", "Metric", rated, golden=()).suggested == 0.9
