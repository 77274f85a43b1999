import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from ratiba_action.verdict.interval import bootstrap_t_interval, mean_below_p, t_interval, wilson_interval

SAMPLES = st.lists(st.integers(0, 1_000).map(lambda number: number / 1_000), min_size=2, max_size=60)


@given(SAMPLES)
def test_students_interval_agrees_with_scipy(values: list[float]) -> None:
    found = t_interval(values, 0.9)
    spread = float(np.std(values, ddof=1))
    if spread:
        expected = stats.t.interval(0.9, len(values) - 1, np.mean(values), spread / len(values) ** 0.5)
        assert (found.low, found.high) == pytest.approx(tuple(map(float, expected)))
    else:
        assert found.low == found.high == pytest.approx(values[0])


@given(st.integers(1, 300).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_wilsons_interval_agrees_with_statsmodels(counts: tuple[int, int]) -> None:
    found = wilson_interval(*counts)
    low, high = proportion_confint(*counts, method="wilson")
    assert (found.low, found.high) == pytest.approx((float(low), float(high)), abs=1e-12)


def test_the_bootstrap_interval_is_students_where_the_sample_is_normal() -> None:
    values = list(stats.norm.ppf(np.linspace(0.01, 0.99, 80)))
    found, expected = bootstrap_t_interval(values), t_interval(values)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.03)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(15, 60))
def test_the_bootstrap_interval_agrees_with_scipys_resampling_of_t(seed: int, size: int) -> None:
    values = np.random.default_rng(seed).beta(4, 2, size)
    mean, error = float(values.mean()), float(stats.sem(values))

    def t(sample: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray((sample.mean(axis=axis) - mean) / stats.sem(sample, axis=axis))

    # SciPy draws the same resamples from the same generator, so that chance has no part in the comparison.
    drawn = stats.bootstrap((values,), t, confidence_level=0.9, n_resamples=4_000, method="percentile", rng=0)
    low, high = drawn.confidence_interval
    found = bootstrap_t_interval(list(values), 0.9, seed=0)
    assert (found.low, found.high) == pytest.approx((mean - high * error, mean - low * error))


def test_the_bootstrap_interval_covers_a_skewed_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for number in range(200):
        found = bootstrap_t_interval(list(rng.exponential(1.0, 20)), 0.9, seed=number)
        covered += found.low <= 1.0 <= found.high
    low = stats.binom.ppf(0.001, 200, 0.9)
    assert covered >= low


def test_values_that_are_all_equal_have_an_interval_of_no_width() -> None:
    found = bootstrap_t_interval([0.5, 0.5, 0.5])
    assert (found.low, found.high) == (0.5, 0.5)


@pytest.mark.parametrize("interval", [t_interval, bootstrap_t_interval])
def test_one_value_has_no_spread(interval: object) -> None:
    assert callable(interval)
    with pytest.raises(ValueError, match="at least two"):
        interval([0.5])


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson_interval(0, 0)


def test_the_p_value_of_a_low_mean_is_that_of_scipy_and_of_what_does_not_vary_certain() -> None:
    values = [0.78, 0.81, 0.76, 0.80, 0.77, 0.80, 0.75, 0.79, 0.80, 0.76]
    expected = stats.t.cdf((np.mean(values) - 0.80) / stats.sem(values), len(values) - 1)
    assert mean_below_p(values, 0.80) == pytest.approx(expected)
    assert (mean_below_p([0.7, 0.7], 0.8), mean_below_p([0.8], 0.8)) == (0.0, 1.0)
