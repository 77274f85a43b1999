"""What a judge that answers only 0 or 1 costs."""

import math

import pytest
from statsmodels.stats.power import TTestPower

from ratiba_action.verdict.judge_levels import coarse_judges, detectable_by_coin


def test_the_drop_that_is_found_shrinks_with_the_root_of_the_samples() -> None:
    one, four = detectable_by_coin(0.8, 50, 1), detectable_by_coin(0.8, 50, 4)
    assert one == pytest.approx(2 * four)
    effect = TTestPower().solve_power(nobs=50, alpha=0.05, power=0.80, alternative="larger")
    assert one == pytest.approx(effect * math.sqrt(2 * 0.8 * 0.2)), "a paired t test of 50 differences"


def test_metrics_of_two_levels_are_named_with_what_more_samples_would_find() -> None:
    (text,) = coarse_judges(
        {"Refusal": [1.0] * 8 + [0.0] * 2, "Tone": [0.5] * 9 + [1.0]}, {"Refusal": 50, "Tone": 50}, 1
    )
    assert text == (
        "Refusal was 0 or 1 in all 10 recorded scores. With 50 scenarios, such a judge finds drops of its mean of 20 "
        "points or more; 12 with judge.samples: 3, 9 with judge.samples: 5. A rubric of several levels finds smaller "
        "ones for less."
    )


@pytest.mark.parametrize(
    ("values", "scenarios"), [([1.0] * 12, 50), ([1.0, 0.0] * 4, 50), ([1.0, 0.0] * 6, 1), ([1.0, 0.0, 0.5] * 6, 50)]
)
def test_nothing_is_said_of_what_may_have_more_levels_or_is_too_few(values: list[float], scenarios: int) -> None:
    assert coarse_judges({"Refusal": values}, {"Refusal": scenarios}, 1) == ()
