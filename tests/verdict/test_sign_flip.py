import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ratiba_action.verdict.sign_flip import EXACT_UP_TO, sign_flip_p

DARWIN = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
FINITE = st.floats(-1, 1, allow_nan=False).map(lambda value: round(value, 3))


def test_darwins_maize_gives_fishers_p_value() -> None:
    assert sign_flip_p(DARWIN, drop=False) == 863 / 32768


@given(st.lists(FINITE, min_size=2, max_size=10).filter(any))
def test_small_samples_agree_with_scipys_exact_permutation_test(differences: list[float]) -> None:
    expected = stats.permutation_test(
        [differences], np.mean, permutation_type="samples", alternative="less", n_resamples=10_000
    )
    assert sign_flip_p(differences) == pytest.approx(float(expected.pvalue))


@given(st.lists(FINITE, min_size=1, max_size=12))
def test_a_drop_of_the_one_is_a_rise_of_the_other(differences: list[float]) -> None:
    assert sign_flip_p(differences) == sign_flip_p([-value for value in differences], drop=False)


@given(st.lists(FINITE, min_size=1, max_size=40))
def test_it_is_a_probability_and_never_0(differences: list[float]) -> None:
    assert 0 < sign_flip_p(differences) <= 1


def test_the_estimate_for_many_scenarios_is_near_the_exact_value_and_repeatable() -> None:
    differences = [0.1, -0.2, 0.3, -0.4, -0.5, 0.05] * 3 + [-0.3, 0.2, -0.1]
    assert len(differences) == EXACT_UP_TO + 1
    exact = float(np.mean(_every_mean(differences) <= np.mean(differences) + 1e-12))
    assert sign_flip_p(differences) == pytest.approx(exact, abs=0.015)
    assert sign_flip_p(differences) == sign_flip_p(differences)


def test_no_difference_at_all_is_no_evidence() -> None:
    assert sign_flip_p([0.0, 0.0]) == 1
    assert sign_flip_p([]) == 1


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        sign_flip_p([0.1, float("nan")])


def _every_mean(differences: list[float]) -> np.ndarray:
    sizes = np.abs(differences)
    signs = 1 - 2 * ((np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes))) & 1)
    return np.asarray((signs @ sizes) / len(sizes))
