"""The bound of decision 0193 agrees with what is known without dynamic programming."""

import math

import pytest
from scipy import stats

from benchmarks.information_bound import LEVEL, Suite, bound

NORMAL = Suite(50, 0.05, 0.128, 0.128, 3)


def test_a_z_test_over_all_rounds_has_the_power_of_the_textbook() -> None:
    error = 0.128 * math.sqrt(2 / (50 * 5))
    assert NORMAL.oracle() == pytest.approx(stats.norm.sf(stats.norm.isf(LEVEL) - 0.05 / error))


def test_one_round_finds_no_more_than_the_test_that_is_most_powerful() -> None:
    ((power, trials),) = bound(NORMAL, rounds=1, costs=(1e6,))
    assert trials == pytest.approx(100, rel=0.02), "a missed drop costs so much that every change is measured"
    assert power == pytest.approx(NORMAL.oracle(1), abs=0.02)  # Neyman and Pearson 1933


def test_what_finds_more_drops_takes_more_trials_and_never_fewer_than_a_sequential_test_without_rounds() -> None:
    (few, some), (many, more) = bound(NORMAL, costs=(130.0, 570.0))
    assert few < many < NORMAL.oracle()
    assert some < more
    for power, trials in ((few, some), (many, more)):
        missed, information = 1 - power, trials / 100 * NORMAL.round**2 + NORMAL.planned**2
        minimum = (1 - LEVEL) * math.log((1 - LEVEL) / missed) + LEVEL * math.log(LEVEL / power)
        assert information >= 2 * minimum  # Wald 1945, the planned trials counted in
