"""Fewer scenarios than a statistical comparison needs: pairs of further trials are tested, round by round."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.stats.power import TTestPower

from ratiba_action.model.comparison import Comparison, Pair, Rules, Tier
from ratiba_action.verdict.comparison import Wanted, examine
from ratiba_action.verdict.few_scenarios import detectable_by_few, is_futile, rounds_of_few
from ratiba_action.verdict.sign_flip import look_levels
from tests.verdict.test_sign_flip import DARWIN

RULES = Rules()
SIZES = st.lists(st.floats(0.001, 1), min_size=15, max_size=15)


def pair(number: int, change: float = 0.0, **changes: Any) -> Pair:
    return replace(Pair(f"s{number}", critical=False, base=(0.8,), head=(0.8 + change,)), **changes)


def found(pairs: Sequence[Pair], *, replayed: bool = False, rules: Rules = RULES) -> Comparison | Wanted:
    return examine(pairs, (), rules, exact=False, replayed=replayed)


def with_trials(pairs: Sequence[Pair], rounds: Sequence[Sequence[float]]) -> list[Pair]:
    """The pairs with further trials whose head lies so far above the base, a list of changes for each round."""
    return [
        replace(one, fresh_base=(0.5,) * len(rounds), fresh_head=tuple(0.5 + changes[place] for changes in rounds))
        for place, one in enumerate(pairs)
    ]


def searched(pairs: Sequence[Pair], change: Callable[[], float]) -> tuple[Comparison, int]:
    """What a search comes to whose further trials differ by ``change``, and how many trials of both arms it took."""
    step, pairs = found(pairs), list(pairs)
    while isinstance(step, Wanted):
        for place, one in enumerate(pairs):
            more = tuple(0.5 + change() for _ in range(step.trials.get(one.scenario_id, 0)))
            pairs[place] = replace(
                one, fresh_base=(*one.fresh_base, *(0.5 for _ in more)), fresh_head=(*one.fresh_head, *more)
            )
        step = found(pairs)
    return step, sum(len(one.fresh_base) + len(one.fresh_head) for one in pairs)


@pytest.mark.parametrize(
    ("scenarios", "alarming", "calm"), [(1, 0.1, 0.11), (2, 0.0, 0.01), (3, -0.04, -0.03), (5, -0.06, -0.05)]
)
def test_the_fewer_scenarios_the_less_of_a_drop_asks_for_further_trials(
    scenarios: int, alarming: float, calm: float
) -> None:
    step = found([pair(number, alarming) for number in range(scenarios)])
    assert isinstance(step, Wanted)
    assert "do not rule a drop out" in step.so_far.reason
    quiet = found([pair(number, calm) for number in range(scenarios)])
    assert isinstance(quiet, Comparison)
    assert (quiet.tier is Tier.REGRESSION, quiet.confirm_p) == (False, None)


def test_a_first_look_has_three_pairs_and_each_round_adds_one_trial_of_every_scenario_on_both_arms() -> None:
    one = found([pair(0)])
    assert isinstance(one, Wanted)
    assert one.trials == {"s0": 3}
    again = found(with_trials([pair(0)], [[-0.1]] * 3))
    assert isinstance(again, Wanted)
    assert again.trials == {"s0": 1}
    three = found([pair(number, -0.1) for number in range(3)])
    assert isinstance(three, Wanted)
    assert three.trials == {"s0": 1, "s1": 1, "s2": 1}


@pytest.mark.parametrize(("scenarios", "pairs"), [(1, 9), (3, 9), (5, 10), (9, 18)])
def test_the_smallest_p_value_of_so_many_pairs_blocks_as_soon_as_its_look_allows_it(scenarios: int, pairs: int) -> None:
    result, trials = searched([pair(number, -0.2) for number in range(scenarios)], lambda: -0.2)
    assert (result.tier, result.mean_fell) == (Tier.REGRESSION, True)
    assert trials == 2 * pairs
    assert result.confirm_p == 2.0**-pairs
    levels = look_levels(RULES.confirm_level, rounds_of_few(scenarios, RULES))
    assert result.confirm_p <= levels[pairs // scenarios - 1]
    assert 2.0 ** -(pairs - scenarios) > levels[max(pairs // scenarios - 2, 0)], "the round before could not"


def test_fishers_p_value_of_darwins_maize_is_that_of_three_scenarios_after_five_rounds() -> None:
    changes = [-height / 100 for height in DARWIN]
    result = found(with_trials([pair(n, -0.1) for n in range(3)], [changes[at : at + 3] for at in range(0, 15, 3)]))
    assert isinstance(result, Comparison)
    assert result.confirm_p == 863 / 32768
    assert result.tier is not Tier.REGRESSION, "the last look asks for 0.0189"


def test_further_trials_that_speak_against_a_drop_are_the_last_ones() -> None:
    result, trials = searched([pair(0, -0.1)], iter([0.1, -0.1, 0.2]).__next__)
    assert (result.tier, trials) == (Tier.WITHIN_NOISE, 6)
    assert result.reason == "Further trials on base and head do not show a drop (p = 0.88)."
    assert not is_futile(0.9, 2)


def test_what_all_rounds_leave_open_is_unclear_where_a_drop_of_the_margin_is_not_ruled_out() -> None:
    open_still, trials = searched([pair(0, -0.1)], iter([-0.3, 0.12] * 15).__next__)
    assert (open_still.tier, trials, open_still.further_trials) == (Tier.UNCLEAR, 30, 30)
    assert open_still.reason == "A drop of 10 points cannot be ruled out with so little data."
    calm, _ = searched([pair(0, -0.1)], iter([-0.02, 0.015] * 15).__next__)
    assert (calm.tier, calm.reason) == (
        Tier.WITHIN_NOISE,
        "No drop beyond chance, and a drop of 10 points is ruled out.",
    )


def test_a_collapse_of_one_of_nine_and_a_drop_of_a_critical_one_block_though_the_mean_does_not() -> None:
    rest = [pair(number, 0.05) for number in range(8)]
    for change, critical in ((-0.8, False), (-0.3, True)):
        fallen = pair(8, change, critical=critical)
        first = found([*rest, fallen])
        assert isinstance(first, Wanted)
        assert (first.trials["s8"], first.mild) == (1, False)
        step = found([*rest, replace(fallen, fresh_base=(0.8,), fresh_head=(0.8 + change,))])
        assert isinstance(step, Wanted)
        assert (step.trials["s8"], step.mild) == (2, False)
        again = replace(fallen, fresh_base=(0.8,) * 3, fresh_head=(0.8 + change,) * 3)
        calm = [replace(one, fresh_base=(0.8,) * 3, fresh_head=(0.85,) * 3) for one in rest]
        result = found([*calm, again])
        assert isinstance(result, Comparison)
        assert (result.tier, result.mean_fell) == (Tier.REGRESSION, False)


def test_an_alarm_is_mild_until_the_mean_or_one_scenario_has_fallen_far() -> None:
    for pairs, mild in (
        ([pair(0, -0.24)], True),
        ([pair(0, -0.25)], False),
        ([pair(0, -0.1), pair(1, -0.1), pair(2, -0.3)], False),
        (with_trials([pair(0, -0.1)], [[-0.4]] * 3), False),
    ):
        step = found(pairs)
        assert isinstance(step, Wanted)
        assert step.mild is mild


def test_recordings_are_tested_once_by_all_of_their_trials_and_never_ask_for_more() -> None:
    fallen = [pair(n, -0.2, fresh_base=(0.8,), fresh_head=(0.6,)) for n in range(3)]
    result = found(fallen, replayed=True)
    assert isinstance(result, Comparison)
    assert (result.tier, result.confirm_p, result.further_trials) == (Tier.REGRESSION, 2.0**-6, 0)
    two = found(fallen[:1], replayed=True)
    assert isinstance(two, Comparison)
    assert (two.tier, two.confirm_p) == (Tier.UNCLEAR, 0.25)
    uneven = found([fallen[0], pair(1, -0.8)], replayed=True)
    assert isinstance(uneven, Comparison)
    assert (uneven.tier, uneven.confirm_p) == (Tier.UNCLEAR, 0.125)


def test_what_an_attempt_before_has_measured_is_added_pair_by_pair() -> None:
    added = pair(0, 0.3, added_base=(0.8,) * 10, added_head=(0.6,) * 10)
    assert isinstance(found([added]), Wanted), "its alarm stays open"
    result = found(with_trials([added], [[-0.2]] * 5))
    assert isinstance(result, Comparison)
    assert (result.tier, result.confirm_p) == (Tier.REGRESSION, 2.0**-15)


def test_what_can_be_seen_depends_on_the_noise_of_the_trials_and_is_unknown_without_any() -> None:
    assert detectable_by_few([pair(0)], RULES) is None
    calm, noisy = (
        detectable_by_few([pair(n, base=(0.8, 0.8 + spread)) for n in range(3)], RULES) for spread in (0.1, 0.2)
    )
    assert calm is not None
    assert noisy is not None
    assert 0.05 < calm < noisy < 0.3
    assert detectable_by_few([pair(n, base=(0.8, 0.8)) for n in range(3)], RULES) == 0.0
    stronger = detectable_by_few([pair(n, base=(0.8, 0.9)) for n in range(3)], replace(RULES, detectable_power=0.99))
    assert stronger is not None
    assert stronger > calm


def test_what_recordings_of_few_scenarios_show_is_what_a_t_test_of_their_pairs_shows() -> None:
    pairs = [pair(number, base=(0.8, 0.9)) for number in range(3)]
    effect = TTestPower().solve_power(nobs=12, alpha=RULES.confirm_level, power=0.80, alternative="larger")
    seen = detectable_by_few(pairs, RULES, recorded=12)
    assert seen == pytest.approx(effect * np.sqrt(2 * np.var([0.8, 0.9], ddof=1)), rel=1e-4)


def test_ten_scenarios_are_compared_as_many() -> None:
    ten = found([pair(number, -0.1) for number in range(10)])
    assert isinstance(ten, Wanted)
    assert (ten.mild, ten.so_far.further_trials) == (False, None)


@given(
    st.lists(st.tuples(st.floats(-0.8, 0.2), st.booleans()), min_size=1, max_size=4),
    st.integers(0, 1_000),
    st.floats(0, 0.3),
)
def test_every_search_ends_within_the_trials_that_were_announced(
    first: list[tuple[float, bool]], seed: int, spread: float
) -> None:
    random = np.random.default_rng(seed)
    pairs = [pair(number, change, critical=critical) for number, (change, critical) in enumerate(first)]
    result, trials = searched(pairs, lambda: float(np.clip(random.normal(0, spread), -0.5, 0.5)))
    assert result.further_trials is not None
    assert trials <= result.further_trials


@given(SIZES, st.sampled_from([(1, 15), (3, 5), (5, 5)]))
def test_whatever_the_pairs_differ_by_their_signs_alone_seldom_block(
    sizes: list[float], design: tuple[int, int]
) -> None:
    scenarios, rounds = design
    assert rounds_of_few(scenarios, RULES) == rounds
    levels = look_levels(RULES.confirm_level, rounds)
    assert blocked_by_signs(np.array(sizes), scenarios, levels) <= sum(levels)


def test_pairs_that_differ_by_chance_block_in_at_most_two_and_a_half_of_a_hundred_however_often_an_alarm_rings() -> (
    None
):
    random = np.random.default_rng(20_261_129)
    for scenarios, rounds in ((1, 15), (3, 5), (5, 5)):
        levels = look_levels(RULES.confirm_level, rounds)
        shares = [blocked_by_signs(np.abs(random.normal(0, 0.18, 15)), scenarios, levels) for _ in range(20)]
        assert 0.015 < sum(shares) / len(shares) <= RULES.confirm_level


def blocked_by_signs(sizes: NDArray[np.float64], scenarios: int, levels: Sequence[float]) -> float:
    """The share of all assignments of signs to the pairs that blocks at one of the looks."""
    sums, blocked, ended = np.zeros(1), np.zeros(1, dtype=bool), np.zeros(1, dtype=bool)
    for look, level in enumerate(levels):
        for size in sizes[look * scenarios : (look + 1) * scenarios]:
            sums, blocked, ended = (
                np.concatenate(both) for both in ((sums - size, sums + size), [blocked] * 2, [ended] * 2)
            )
        p = np.searchsorted(np.sort(sums), sums + 1e-9, side="right") / sums.size
        blocked |= (p <= level) & ~ended
        ended |= blocked | ((p > 0.5) & ((look + 1) * scenarios >= 3))
    return float(blocked.mean())
