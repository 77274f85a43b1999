import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from ratiba_action.verdict.interval import minimum_detectable_effect

SPREAD = (2 * (0.10**2 + 0.08**2)) ** 0.5
"""Of the difference of two runs, with a judge's standard deviation of 0.10 and a system's of 0.08."""


@pytest.mark.parametrize(("scenarios", "points"), [(20, 10), (50, 6.5), (100, 4.6), (200, 3.2)])
def test_one_run_an_arm_sees_what_the_table_of_the_design_says(scenarios: int, points: float) -> None:
    assert minimum_detectable_effect(SPREAD, scenarios) * 100 == pytest.approx(points, rel=0.05)


@pytest.mark.parametrize(("scenarios", "points"), [(20, 6), (50, 3.8), (100, 2.7), (200, 1.9)])
def test_three_runs_an_arm_see_what_the_table_of_the_design_says(scenarios: int, points: float) -> None:
    assert minimum_detectable_effect(SPREAD / 3**0.5, scenarios) * 100 == pytest.approx(points, rel=0.05)


@given(st.floats(0.01, 1), st.integers(3, 300))
def test_it_agrees_with_statsmodels(spread: float, pairs: int) -> None:
    effect = minimum_detectable_effect(spread, pairs)
    power = TTestPower().power(effect / spread, pairs, 0.05, alternative="larger")
    assert float(power) == pytest.approx(0.80, abs=1e-6)


def test_without_any_spread_every_effect_is_seen() -> None:
    assert minimum_detectable_effect(0.0, 10) == 0


@pytest.mark.parametrize(("spread", "pairs"), [(0.1, 1), (-0.1, 10), (float("inf"), 10)])
def test_what_cannot_be_compared_is_refused(spread: float, pairs: int) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        minimum_detectable_effect(spread, pairs)
