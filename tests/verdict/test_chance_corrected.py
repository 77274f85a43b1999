import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.verdict.agreement import cohen_kappa, gwet_coefficient, quadratic

BY_IRRCAC = [
    (((0, 8, 1), (0, 4, 4), (2, 2, 5)), 0.03651226, 0.30020704),
    (((4, 4, 3, 4, 3), (1, 3, 5, 7, 6), (5, 3, 8, 3, 6), (6, 7, 6, 5, 3), (5, 3, 4, 6, 4)), 0.01392376, 0.00488865),
    (((1, 0, 5, 4, 2), (1, 8, 6, 0, 4), (8, 1, 0, 5, 2), (4, 0, 6, 5, 1), (7, 3, 7, 4, 8)), 0.05023504, -0.04504452),
    (((7, 1, 6, 1, 4), (5, 7, 8, 2, 7), (0, 5, 2, 2, 3), (5, 2, 6, 2, 5), (5, 2, 7, 4, 3)), 0.01086458, 0.03357477),
    (((15, 2, 1, 2), (0, 13, 2, 2), (1, 1, 19, 1), (1, 1, 2, 14)), 0.72336365, 0.71762902),
]
"""Random tables of two raters with AC1 and AC2 as the package irrCAC 0.4.4 gives them."""


@pytest.mark.parametrize(("table", "ac1", "ac2"), BY_IRRCAC)
def test_gwets_coefficients_agree_with_another_implementation(
    table: tuple[tuple[int, ...], ...], ac1: float, ac2: float
) -> None:
    assert gwet_coefficient(table) == pytest.approx(ac1, abs=1e-8)
    assert gwet_coefficient(table, quadratic) == pytest.approx(ac2, abs=1e-8)


def test_where_one_category_prevails_kappa_collapses_and_ac1_does_not() -> None:
    table = [[130, 56], [9, 5]]
    assert cohen_kappa(table) == pytest.approx(0.022, abs=5e-4)
    assert gwet_coefficient(table) == pytest.approx(0.5326, abs=5e-5)


def test_weights_forgive_near_misses() -> None:
    near = [[5, 3, 0], [3, 5, 3], [0, 3, 5]]
    plain, weighted = gwet_coefficient(near), gwet_coefficient(near, quadratic)
    assert plain is not None
    assert weighted is not None
    assert weighted > plain


@given(st.lists(st.integers(0, 40), min_size=9, max_size=9).filter(any))
def test_gwets_coefficient_agrees_with_its_definition_by_pairs_of_ratings(cells: list[int]) -> None:
    """Chance is half of what two raters disagree who each draw from both raters' ratings, by Gwet's scaling."""
    counts = np.array(cells, dtype=float).reshape(3, 3)
    shares = (counts.sum(axis=0) + counts.sum(axis=1)) / (2 * counts.sum())
    chance = (1 - float(shares @ shares)) / (3 - 1)
    observed = float(np.trace(counts) / counts.sum())
    assert gwet_coefficient(counts.tolist()) == pytest.approx((observed - chance) / (1 - chance))


@given(st.lists(st.integers(0, 40), min_size=25, max_size=25).filter(any))
def test_gwets_quadratic_coefficient_agrees_with_its_definition(cells: list[int]) -> None:
    """Gwet 2014, section 4.4: weights 1 minus squared distance by the largest; chance is their sum by variances."""
    shares = np.array(cells, dtype=float).reshape(5, 5) / sum(cells)
    at = np.arange(5)
    weights = 1 - (at[:, None] - at) ** 2 / 16
    means = (shares.sum(axis=0) + shares.sum(axis=1)) / 2
    chance = weights.sum() / (5 * 4) * float((means * (1 - means)).sum())
    observed = float((weights * shares).sum())
    found = gwet_coefficient(np.array(cells).reshape(5, 5).tolist(), quadratic)
    assert found == pytest.approx((observed - chance) / (1 - chance))


@pytest.mark.parametrize("table", [[], [[7]], [[0, 0], [0, 0]]])
def test_agreement_about_nothing_is_undefined(table: list[list[int]]) -> None:
    assert gwet_coefficient(table) is None
