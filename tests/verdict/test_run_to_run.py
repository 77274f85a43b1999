"""Runs of one version that vary by more than their scenarios explain."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.comparison import Comparison, Pair, Rules, Tier
from ratiba_action.verdict.comparison import Wanted, examine
from ratiba_action.verdict.families import Cluster
from ratiba_action.verdict.run_to_run import RunToRun, run_to_run, runs_of
from ratiba_action.verdict.sign_flip import look_levels

REFERENCE = json.loads((Path(__file__).parent / "runs_crossed_with_scenarios.json").read_text("utf-8"))
LEVEL = look_levels(Rules().confirm_level, Rules().confirming_trials)


def clusters(arms: Sequence[Sequence[Sequence[float]]], size: int = 1) -> list[list[list[Cluster]]]:
    return [[[Cluster(value * size, size) for value in run] for run in runs] for runs in arms]


@pytest.mark.parametrize("case", REFERENCE["cases"])
def test_the_ratio_is_the_f_statistic_of_runs_by_statsmodels(case: dict[str, list[list[list[float]]] | float]) -> None:
    arms = case["arms"]
    assert isinstance(arms, list)
    for size in (1, 4):
        found = run_to_run(clusters(arms, size))
        assert found.ratio == pytest.approx(max(1.0, float(str(case["f"]))))
        assert found.freedom == case["freedom"]


def test_the_p_value_is_students_with_the_degrees_of_satterthwaite() -> None:
    # scipy 1.17: stats.t.cdf(-2 / sqrt(2), 12) and stats.t.cdf(-3 / sqrt(4), 5 / 0.75**2)
    assert RunToRun(2.0, 3).drop_p(-2.0, 1.0) == pytest.approx(0.0913584, abs=1e-6)
    assert RunToRun(4.0, 5).drop_p(-3.0, 1.0) == pytest.approx(0.0841336, abs=1e-6)


@given(st.floats(1, 100), st.integers(1, 30))
def test_the_more_runs_vary_the_fewer_degrees_of_freedom_are_left_and_never_fewer_than_runs_have(
    ratio: float, freedom: int
) -> None:
    found = RunToRun(ratio, freedom)
    assert found.degrees >= freedom
    assert found.widened(0.01) >= 0.01


@pytest.mark.parametrize("arms", [[], [[[0.8, 0.7]]], [[[0.8], [0.7]]], [[[0.8, 0.7], [0.8, 0.7]]]])
def test_what_says_nothing_about_runs_widens_nothing(arms: list[list[list[float]]]) -> None:
    found = run_to_run(clusters(arms))
    assert (found.ratio, found.degrees, found.drop_p(-1.0, 0.1)) == (1.0, math.inf, 0.0)


def confirmed(rounds: int, effect: float, drop: float) -> list[Pair]:
    """Two hundred scenarios, of which every run of either arm has an effect of its own, by turns up and down."""
    random = np.random.default_rng(7)

    def run(place: int, change: float = 0.0) -> list[float]:
        own = effect if place % 2 else -effect
        return [float(value) for value in 0.8 + change + own + random.normal(0, 0.05, 200)]

    base, head = [run(place) for place in range(3)], run(0, -drop)
    fresh_base = [run(place + 1) for place in range(rounds)]
    fresh_head = [run(place, -drop) for place in range(rounds)]
    return [
        Pair(
            f"s{number:03}",
            critical=False,
            base=tuple(values[number] for values in base),
            head=(head[number],),
            fresh_base=tuple(values[number] for values in fresh_base),
            fresh_head=tuple(values[number] for values in fresh_head),
        )
        for number in range(200)
    ]


def test_a_difference_as_large_as_that_of_two_runs_of_one_version_does_not_block_however_many_scenarios_show_it() -> (
    None
):
    step = examine(confirmed(1, 0.02, 0.0), (), Rules(), exact=False)
    assert isinstance(step, Wanted)
    assert step.so_far.confirm_p is not None
    assert step.so_far.confirm_p > LEVEL[0]
    assert run_to_run(runs_of(confirmed(1, 0.02, 0.0), 1)).ratio > 10


@pytest.mark.parametrize(("effect", "drop"), [(0.0, 0.03), (0.02, 0.25)])
def test_a_drop_beyond_what_runs_vary_by_blocks(effect: float, drop: float) -> None:
    pairs = confirmed(1, effect, drop)
    found = examine(pairs, (), Rules(), exact=False)
    rounds = 1
    while isinstance(found, Wanted) and rounds < Rules().confirming_trials:
        rounds += 1
        found = examine(confirmed(rounds, effect, drop), (), Rules(), exact=False)
    assert isinstance(found, Comparison)
    assert found.tier is Tier.REGRESSION


def test_the_interval_and_the_smallest_drop_are_as_wide_as_runs_vary() -> None:
    steady, varying = (examine(confirmed(5, effect, 0.0), (), Rules(), exact=False) for effect in (0.0, 0.02))
    assert isinstance(steady, Comparison)
    assert isinstance(varying, Comparison)
    assert None not in (steady.low, steady.high, varying.low, varying.high, steady.detectable, varying.detectable)
    assert varying.high - varying.low > 2 * (steady.high - steady.low)  # type: ignore[operator] # none is None
    assert varying.detectable > 2 * steady.detectable  # type: ignore[operator] # none is None


def test_runs_that_vary_much_do_not_rule_a_drop_out() -> None:
    found = examine(confirmed(5, 0.15, 0.12), (), Rules(), exact=False)
    assert isinstance(found, Comparison)
    assert found.tier is Tier.UNCLEAR
    assert found.reason == "A drop of 10 points cannot be ruled out with so little data."


def test_families_count_as_families_when_runs_are_compared() -> None:
    """What a family shares in a run is its noise, not the run's."""
    random = np.random.default_rng(3)
    shared = random.normal(0, 0.08, (8, 20))

    def pair(number: int, family: str) -> Pair:
        own = 0.8 + shared[:, number // 10] + random.normal(0, 0.02, 8)
        values = tuple(float(value) for value in own)
        return Pair(f"s{number:03}", critical=False, base=values[:3], head=values[3:4], family=family,
                    fresh_base=values[4:6], fresh_head=values[6:])  # fmt: skip

    pairs = [pair(number, f"f{number // 10}") for number in range(200)]
    declared = run_to_run(runs_of(pairs, 2))
    apart = run_to_run(runs_of([replace(one, family="") for one in pairs], 2))
    assert declared.ratio < 3 < apart.ratio


def test_planned_trials_of_one_run_of_the_base_say_nothing_about_runs() -> None:
    """They share the run, so that they would take its noise for nothing."""
    pairs = confirmed(1, 0.02, 0.0)
    one_run = [replace(pair, base=(pair.base[0],) * 3, base_runs=(0, 0, 0)) for pair in pairs]
    single = [replace(pair, base=pair.base[:1]) for pair in pairs]
    assert run_to_run(runs_of(one_run, 1)) == run_to_run(runs_of(single, 1))


def test_runs_of_the_base_are_not_mixed_where_scenarios_have_other_numbers_of_trials_or_are_missing_from_one() -> None:
    pairs = confirmed(1, 0.02, 0.0)

    def other(number: int, pair: Pair) -> Pair:
        first, second, third = pair.base
        if number % 3 == 0:
            return replace(pair, base=(first, 0.1, second, 0.2, third), base_runs=(0, 0, 1, 1, 2))
        if number % 3 == 1:
            return replace(pair, base=(first, third), base_runs=(0, 2))
        return pair

    expected = [replace(pair, base=(pair.base[0], pair.base[2])) for pair in pairs]
    mixed = [other(number, pair) for number, pair in enumerate(pairs)]
    assert run_to_run(runs_of(mixed, 1)) == run_to_run(runs_of(expected, 1))


def test_what_changed_between_attempts_is_no_noise_of_runs() -> None:
    """The provider fell by 20 points between two attempts at one commit: a real drop still blocks."""

    def before(pair: Pair) -> Pair:
        return replace(
            pair,
            added_base=tuple(value + 0.2 for value in pair.fresh_base),
            added_head=tuple(value + 0.2 for value in pair.fresh_head),
            head=(pair.head[0] + 0.2, pair.head[0]),
            head_runs=(0, 1),
        )

    fresh = confirmed(2, 0.0, 0.05)
    found = examine([before(pair) for pair in fresh], (), Rules(), exact=False)
    assert isinstance(found, Comparison)
    assert found.tier is Tier.REGRESSION
    assert run_to_run(runs_of([before(pair) for pair in fresh], 2)) == run_to_run(runs_of(fresh, 2))


def test_a_planned_run_of_an_earlier_attempt_is_not_the_present_ones() -> None:
    pairs = confirmed(2, 0.02, 0.0)
    missing = [replace(pairs[0], head=(0.1,), head_runs=(0,))]
    missing += [replace(pair, head=(0.1, pair.head[0]), head_runs=(0, 1)) for pair in pairs[1:]]
    assert [len(arm) for arm in runs_of(missing, 2)] == [3, 2, 2]
