"""Scenarios of one family count as fewer measurements than they seem."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.comparison import Comparison, Pair, Rules, Tier
from ratiba_action.verdict.comparison import Wanted, examine
from ratiba_action.verdict.families import (
    Cluster,
    cluster_error,
    cluster_interval,
    clusters_of,
    effective_number,
    rounds_of_families,
)
from ratiba_action.verdict.interval import t_interval
from ratiba_action.verdict.sign_flip import sign_flip_p
from ratiba_action.verdict.weighing import sensitivity

RULES = Rules()
REFERENCE = json.loads((Path(__file__).parent / "clustered_errors.json").read_text("utf-8"))


def pairs_of(changes: Sequence[float], size: int = 1) -> list[Pair]:
    """Pairs in families of a size, each family with its own change in the planned trials."""
    return [
        Pair(f"s{family}_{number}", critical=False, base=(0.8,), head=(0.8 + change,), family=f"f{family}")
        for family, change in enumerate(changes)
        for number in range(size)
    ]


def again(pairs: Sequence[Pair], rounds: Sequence[Sequence[float]], size: int) -> list[Pair]:
    """The pairs with further trials: of each round the change of every family."""
    return [
        replace(
            one,
            fresh_base=(0.8,) * len(rounds),
            fresh_head=tuple(0.8 + changes[place // size] for changes in rounds),
        )
        for place, one in enumerate(pairs)
    ]


@pytest.mark.parametrize("case", REFERENCE["cases"])
def test_errors_and_intervals_are_those_of_statsmodels(case: dict[str, list[float] | float | list[str]]) -> None:
    names, changes = case["families"], case["changes"]
    assert isinstance(names, list)
    assert isinstance(changes, list)
    pairs = [Pair(f"s{place}", critical=False, base=(), head=(), family=str(name)) for place, name in enumerate(names)]
    clusters = clusters_of(pairs, [float(change) for change in changes])
    assert cluster_error(clusters) == pytest.approx(case["error"])
    interval = cluster_interval(clusters, 0.90)
    assert interval is not None
    if case["interval_90"] is not None:
        assert [interval.low, interval.high] == pytest.approx(case["interval_90"])


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30))
def test_where_every_scenario_counts_for_itself_the_interval_is_students(changes: list[float]) -> None:
    expected = t_interval(changes, 0.90)
    found = cluster_interval([Cluster(change, 1) for change in changes], 0.90)
    assert found is not None
    assert [found.low, found.high] == pytest.approx([expected.low, expected.high], abs=1e-9)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40))
def test_the_effective_number_is_at_most_that_of_the_families_and_equal_for_families_of_one_size(
    sizes: list[int],
) -> None:
    number = effective_number([Cluster(0.0, size) for size in sizes])
    assert 1 - 1e-9 <= number <= len(sizes) + 1e-9
    assert (abs(number - len(sizes)) < 1e-9) == (len(set(sizes)) == 1)


def test_signs_are_flipped_by_whole_family() -> None:
    changes = (-0.2, -0.2, -0.2, -0.2, -0.2, -0.2, 0.06, 0.06, 0.06, 0.06)
    pairs = again(pairs_of([-0.096] * 10, 5), [changes] * 2, 5)
    found = examine(pairs, (), RULES, exact=False)
    shown = found.so_far if isinstance(found, Wanted) else found
    assert shown.confirm_p == pytest.approx(sign_flip_p(changes))
    alone = examine([replace(pair, family="") for pair in pairs], (), RULES, exact=False)
    assert isinstance(alone, Comparison)
    assert alone.tier is Tier.REGRESSION, "as fifty measurements they would be beyond chance"
    assert isinstance(found, Wanted)


def test_few_families_are_tested_by_family_and_round_until_the_smallest_p_value_is_below_the_level() -> None:
    planned = pairs_of([-0.05], 20)
    step = examine(planned, (), RULES, exact=False)
    assert isinstance(step, Wanted)
    assert set(step.trials.values()) == {3}, "two rounds of one family say nothing yet"
    assert step.so_far.further_trials == 2 * 6 * 20
    for rounds in (3, 4, 5):
        step = examine(again(planned, [(-0.1,)] * rounds, 20), (), RULES, exact=False)
        assert isinstance(step, Wanted)
        assert set(step.trials.values()) == {1}
    found = examine(again(planned, [(-0.1,)] * 6, 20), (), RULES, exact=False)
    assert isinstance(found, Comparison)
    assert (found.tier, found.confirm_p) == (Tier.REGRESSION, 1 / 64)
    mixed = examine(again(planned, [(-0.1,), (0.1,), (0.1,)], 20), (), RULES, exact=False)
    assert isinstance(mixed, Comparison)
    assert mixed.tier is not Tier.REGRESSION


@pytest.mark.parametrize(("effective", "rounds"), [(1.0, 6), (1.1, 6), (1.2, 5), (9.0, 5)])
def test_the_fewer_families_the_more_rounds(effective: float, rounds: int) -> None:
    assert rounds_of_families(effective, RULES) == rounds


def test_one_family_without_an_alarm_passes_without_an_interval_and_says_what_it_cannot_see() -> None:
    found = examine(pairs_of([0.01], 20), (), RULES, exact=False)
    assert isinstance(found, Comparison)
    assert (found.tier, found.low, found.detectable, found.families) == (Tier.WITHIN_NOISE, None, None, 1)
    assert found.reason == "The mean score rose by 1 point in the first trials, which raises no alarm."
    assert sensitivity(found) == (
        "The planned trials of 20 scenarios in 1 family do not show how large a drop this run can see."
    )


def test_the_smallest_drop_that_is_seen_counts_families() -> None:
    changes = [-0.02, 0.03, -0.01, 0.02, 0.01, -0.03, 0.02, 0.03, 0.01, 0.02, 0.0, 0.01]
    families = examine(pairs_of(changes, 5), (), RULES, exact=False)
    alone = examine([replace(pair, family="") for pair in pairs_of(changes, 5)], (), RULES, exact=False)
    assert isinstance(families, Comparison)
    assert isinstance(alone, Comparison)
    assert families.detectable is not None
    assert alone.detectable is not None
    assert families.detectable > 2 * alone.detectable
    assert sensitivity(families).startswith("With 60 scenarios in 12 families this run can see drops of ")


def test_families_of_fewer_than_ten_scenarios_are_tested_by_round_too() -> None:
    planned = pairs_of([-0.05, -0.05], 3)
    step = examine(planned, (), RULES, exact=False)
    assert isinstance(step, Wanted)
    assert step.so_far.further_trials == 2 * 8 * 6, "eight rounds of two families, as of two scenarios"
    step = examine(again(planned, [(-0.1, -0.1)] * 4, 3), (), RULES, exact=False)
    shown = step.so_far if isinstance(step, Wanted) else step
    assert shown.confirm_p == 1 / 256


def test_recordings_are_compared_as_they_were() -> None:
    planned = again(pairs_of([-0.05], 20), [(-0.1,), (-0.12,)], 20)
    replayed = examine(planned, (), replace(RULES, confirming_trials=1), exact=False, replayed=True)
    alone = [replace(pair, family="") for pair in planned]
    assert replayed == examine(alone, (), replace(RULES, confirming_trials=1), exact=False, replayed=True)


def test_a_rise_is_said_with_what_it_assumes_where_no_family_is_declared() -> None:
    declared = pairs_of([0.10, 0.12] * 10, 2)
    for pairs, ends in (
        (declared, "more than chance explains."),
        ([replace(one, family="") for one in declared], "more than chance explains if the scenarios are independent."),
    ):
        found = examine(pairs, (), RULES, exact=False)
        assert isinstance(found, Comparison)
        assert found.tier is Tier.IMPROVED
        assert found.reason.endswith(ends)
