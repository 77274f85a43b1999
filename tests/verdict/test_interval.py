import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from ratiba_action.verdict.interval import mean_below_p, t_interval, wilson_interval

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


def test_one_value_has_no_spread() -> None:
    with pytest.raises(ValueError, match="at least two"):
        t_interval([0.5])


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson_interval(0, 0)


def test_the_p_value_of_a_low_mean_is_that_of_scipy_and_of_what_does_not_vary_certain() -> None:
    values = [0.78, 0.81, 0.76, 0.80, 0.77, 0.80, 0.75, 0.79, 0.80, 0.76]
    expected = stats.t.cdf((np.mean(values) - 0.80) / stats.sem(values), len(values) - 1)
    assert mean_below_p(values, 0.80) == pytest.approx(expected)
    assert (mean_below_p([0.7, 0.7], 0.8), mean_below_p([0.8], 0.8)) == (0.0, 1.0)
