import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.nonparametric import rank_compare_2indep

from ratiba_action.verdict.two_samples import (
    CliffsDelta,
    TwoSampleTest,
    cliffs_delta,
    detectable_delta,
    kolmogorov_smirnov,
    mann_whitney,
)

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


def test_samples_of_one_value_are_alike_whichever_scipy_compares_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy 1.17 says p = 1, 1.18 says NaN."""
    monkeypatch.setattr(stats, "mannwhitneyu", lambda *_, **__: SimpleNamespace(statistic=6.0, pvalue=math.nan))
    assert mann_whitney([1.0] * 4, [1.0] * 3) == TwoSampleTest(6.0, 1.0)


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


def test_cliffs_delta_gives_the_published_value_and_interval() -> None:
    """The example in the manual of the R package effsize (Torchiano 2020)."""
    found = cliffs_delta([10, 10, 20, 20, 20, 30, 30, 30, 40, 50], [10, 20, 30, 40, 40, 50])
    assert (found.delta, found.low, found.high) == pytest.approx((-0.25, -0.7265846, 0.3890062), abs=1e-7)


@given(SAMPLES, SAMPLES)
def test_cliffs_delta_agrees_with_statsmodels_and_its_interval_with_the_whole_table(
    first: list[float], second: list[float]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        share = float(rank_compare_2indep(first, second).prob1)
    found = cliffs_delta(first, second)
    assert found.delta == pytest.approx(2 * share - 1)
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low <= found.delta <= found.high <= 1
    if abs(found.delta) == 1:
        return
    table = np.sign(np.array(first)[:, None] - np.array(second)[None, :])
    n, m = table.shape
    delta = table.mean()
    squares = m**2 * ((table.mean(1) - delta) ** 2).sum() + n**2 * ((table.mean(0) - delta) ** 2).sum()
    variance = (squares - ((table - delta) ** 2).sum()) / (n * m * (n - 1) * (m - 1))
    variance = max(variance, (1 - delta**2) / (n * m - 1))
    t = float(stats.t.ppf(0.975, n + m - 2))
    reach = t * np.sqrt(variance * ((1 - delta**2) ** 2 + t**2 * variance))
    ends = [(delta - delta**3 + sign * reach) / (1 - delta**2 + t**2 * variance) for sign in (-1, 1)]
    assert (found.low, found.high) == pytest.approx((max(-1, ends[0]), min(1, ends[1])))


@given(SAMPLES, SAMPLES)
def test_cliffs_delta_of_swapped_samples_is_its_negative(first: list[float], second: list[float]) -> None:
    there, back = cliffs_delta(first, second), cliffs_delta(second, first)
    assert there.low is not None
    assert back.high is not None
    assert (there.delta, there.low) == pytest.approx((-back.delta, -back.high))


def test_a_single_value_has_a_delta_and_no_interval() -> None:
    assert cliffs_delta([1.0], [2.0, 3.0]) == CliffsDelta(-1.0)


def test_the_detectable_delta_is_found_with_the_power_that_is_said() -> None:
    random = np.random.default_rng(1)
    size, delta = 60, detectable_delta(60, 60)
    # Two normal distributions a distance apart: P(X > Y) = Phi(d / sqrt 2).
    distance = float(stats.norm.ppf((1 + delta) / 2)) * np.sqrt(2)
    drawn = [(random.normal(distance, 1, size).tolist(), random.normal(0, 1, size).tolist()) for _ in range(400)]
    found = [mann_whitney(first, second).p <= 0.05 for first, second in drawn]
    assert np.mean(found) == pytest.approx(0.8, abs=0.06)
