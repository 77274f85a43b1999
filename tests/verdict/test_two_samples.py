import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.nonparametric import rank_compare_2indep

from ratiba_action.verdict.two_samples import kolmogorov_smirnov, mann_whitney

SAMPLES = st.lists(st.integers(1, 5).map(float), min_size=3, max_size=40).filter(lambda values: len(set(values)) > 1)


@pytest.mark.parametrize(("first", "distance", "p"), [([1.01, 2.01], 1 / 3, 1.0), ([0.99, 1.99], 2 / 3, 0.6)])
def test_kolmogorov_smirnov_gives_the_published_values(first: list[float], distance: float, p: float) -> None:
    found = kolmogorov_smirnov(first, [1, 2, 3])
    assert (found.statistic, found.p) == pytest.approx((distance, p))


def test_mann_whitney_gives_the_published_value() -> None:
    """Ages at diagnosis of diabetes, the example of Corder and Foreman 2014 that SciPy's manual works through."""
    males, females = [19, 22, 16, 29, 24], [20, 11, 17, 12]
    found = mann_whitney(males, females)
    assert (found.statistic, found.p) == pytest.approx((17, 0.1111111))


@given(SAMPLES, SAMPLES)
def test_mann_whitneys_u_agrees_with_statsmodels(first: list[float], second: list[float]) -> None:
    with warnings.catch_warnings():
        # Of samples that do not overlap it divides by a variance of 0, which only its test needs, not the share.
        warnings.simplefilter("ignore", RuntimeWarning)
        share = float(rank_compare_2indep(first, second).prob1)
    assert mann_whitney(first, second).statistic == pytest.approx(share * len(first) * len(second))


@given(SAMPLES, SAMPLES)
def test_the_distance_agrees_with_counting_both_distributions(first: list[float], second: list[float]) -> None:
    seen = np.array([*first, *second])[:, None]
    shares = [np.mean(np.array(sample)[None, :] <= seen, axis=1) for sample in (first, second)]
    assert kolmogorov_smirnov(first, second).statistic == pytest.approx(float(np.max(np.abs(shares[0] - shares[1]))))


def test_ties_that_allow_no_exact_p_value_are_no_trouble() -> None:
    found = kolmogorov_smirnov([1, 1, 1, 1, 2], [1, 1, 1, 1, 3])
    assert found.statistic == pytest.approx(0.2)
    assert 0 < found.p <= 1


def test_an_empty_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="empty sample"):
        mann_whitney([], [1.0])
    with pytest.raises(ValueError, match="empty sample"):
        kolmogorov_smirnov([1.0], [])
