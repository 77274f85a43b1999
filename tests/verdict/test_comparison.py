from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.comparison import Comparison, NotComparable, Pair, Rules, Tier
from ratiba_action.verdict.comparison import Wanted, examine
from ratiba_action.verdict.sign_flip import look_levels, sign_flip_p

RULES = Rules()
WAVES = (0.0, 0.02, -0.02, 0.01, -0.01)
"""A little scatter, the same for every test."""


def pair(number: int, change: float = 0.0, **changes: Any) -> Pair:
    head = 0.8 + change + WAVES[number % len(WAVES)]
    plain = Pair(f"scenario_{number:02}", critical=False, base=(0.8,), head=(head,), metrics={"Fluency": (0.8, head)})
    return replace(plain, **changes)


def again(one: Pair, head: Sequence[float], base: Sequence[float]) -> Pair:
    return replace(one, fresh_head=tuple(head), fresh_base=tuple(base))


def concluded(pairs: Sequence[Pair], *, exact: bool = False) -> Comparison:
    found = examine(pairs, (), RULES, exact=exact)
    assert isinstance(found, Comparison)
    return found


def wanted(pairs: Sequence[Pair]) -> Wanted:
    found = examine(pairs, (), RULES, exact=False)
    assert isinstance(found, Wanted)
    return found


def test_no_drop_is_within_noise_and_rules_the_margin_out() -> None:
    found = concluded([pair(number) for number in range(20)])
    assert found.tier is Tier.WITHIN_NOISE
    assert found.reason == "No drop beyond chance, and a drop of 10 points is ruled out."
    assert found.low is not None
    assert found.low > -0.10


def test_a_drop_is_looked_at_again_in_one_further_trial_of_everything_on_both_arms_before_it_blocks() -> None:
    alarm = wanted([pair(number, -0.05) for number in range(20)])
    assert set(alarm.trials.values()) == {1}
    assert len(alarm.trials) == 20
    assert "has to be confirmed" in alarm.so_far.reason


def test_a_drop_that_the_first_look_leaves_open_is_looked_at_up_to_five_times() -> None:
    heads, bases = (0.70, 0.70, 0.70, 0.70), (0.80, 0.80, 0.80, 0.80)
    for looks in (1, 2):
        pairs = [again(pair(number, -0.05), heads[:looks], bases[:looks]) for number in range(0, 40, 2)]
        pairs[::3] = [again(one, (0.92,) * looks, bases[:looks]) for one in pairs[::3]]
        assert set(wanted(pairs).trials.values()) == {1}
    pairs = [again(one, (*one.fresh_head, 0.80), (*one.fresh_base, 0.80)) for one in pairs]
    assert concluded(pairs).tier is not Tier.REGRESSION


@pytest.mark.parametrize(
    ("looks", "high", "ends"), [(1, 0.86, False), (1, 0.90, True), (2, 0.84, False), (2, 0.87, True)]
)
def test_further_trials_that_speak_against_a_drop_are_the_last_ones(looks: int, high: float, *, ends: bool) -> None:
    heads = ((high if number % 2 else 0.72,) * looks for number in range(20))
    pairs = [again(pair(number, -0.05), head, (0.8,) * looks) for number, head in enumerate(heads)]
    found = examine(pairs, (), RULES, exact=False)
    shown = found if isinstance(found, Comparison) else found.so_far
    assert shown.confirm_p is not None
    assert (shown.confirm_p > (0.5, 0.3)[looks - 1]) == ends == isinstance(found, Comparison)
    assert not ends or shown.tier is not Tier.REGRESSION


def test_a_clear_drop_ends_at_the_first_look() -> None:
    pairs = [again(pair(number, -0.1), (0.70 + WAVES[number % 5],), (0.8,)) for number in range(20)]
    found = concluded(pairs)
    assert found.tier is Tier.REGRESSION
    assert found.confirm_p is not None
    assert found.confirm_p <= look_levels(RULES.confirm_level, RULES.confirming_trials)[0]


def test_a_provider_that_got_worse_since_the_base_was_measured_blocks_no_change() -> None:
    pairs = [again(pair(number, -0.05), (0.75,) * 3, (0.75 + WAVES[number % 5],) * 3) for number in range(20)]
    found = concluded(pairs)
    assert found.tier is Tier.WITHIN_NOISE
    assert found.difference == pytest.approx(0.0, abs=1e-9), "the old scores of the base count no more"


def test_further_trials_of_a_suspect_alone_do_not_move_the_mean() -> None:
    rest = [pair(number, 0.01) for number in range(19)]
    unlucky = pair(19, -0.3)
    lone = concluded([*rest, again(unlucky, (0.8,) * 3, (0.8,) * 3)])
    assert lone.difference == pytest.approx((19 * 0.01 - 0.3 + sum(WAVES[number % 5] for number in range(20))) / 20)


def test_an_attempt_that_raised_an_alarm_keeps_its_question_open_and_its_data_counts() -> None:
    added = [replace(pair(number), added_head=(0.7,) * 3, added_base=(0.8,) * 3) for number in range(20)]
    assert set(wanted(added).trials.values()) == {1}
    assert concluded([again(one, (0.78,), (0.8,)) for one in added]).tier is Tier.REGRESSION


def test_a_confirmed_drop_of_the_mean_is_a_regression() -> None:
    pairs = [again(pair(number, -0.05), (0.75, 0.76), (0.80, 0.81)) for number in range(20)]
    found = concluded(pairs)
    assert found.tier is Tier.REGRESSION
    assert found.reason == "The mean score fell by 5 points, and further trials on base and head confirm it."
    assert found.confirm_p is not None
    assert found.confirm_p <= 0.025


def test_an_alarm_that_further_trials_do_not_show_again_is_no_regression() -> None:
    pairs = [again(pair(number, -0.03), (0.84, 0.86, 0.80), (0.80, 0.80, 0.80)) for number in range(20)]
    assert concluded(pairs).tier is not Tier.REGRESSION


def test_a_large_drop_of_one_scenario_is_looked_at_in_one_further_trial_then_in_two_more_unless_it_rose() -> None:
    pairs = [pair(number, 0.02) for number in range(19)] + [pair(19, -0.3)]
    assert wanted(pairs).trials == {"scenario_19": 1}
    for head in (0.5, 0.8):
        assert wanted([*pairs[:-1], again(pairs[-1], (head,), (0.8,))]).trials == {"scenario_19": 2}
    assert concluded([*pairs[:-1], again(pairs[-1], (0.9,), (0.8,))]).tier is Tier.WITHIN_NOISE


def test_one_ordinary_scenario_that_drops_again_does_not_block_and_a_critical_one_does() -> None:
    rest = [pair(number, 0.02) for number in range(19)]
    dropped = again(pair(19, -0.3), (0.5, 0.5, 0.5), (0.8, 0.8, 0.8))
    assert concluded([*rest, dropped]).tier is not Tier.REGRESSION
    found = concluded([*rest, replace(dropped, critical=True)])
    assert found.tier is Tier.REGRESSION
    assert found.reason == "Further trials confirm large drops: scenario_19."


def test_one_ordinary_scenario_that_collapses_again_blocks() -> None:
    rest = [pair(number, 0.02) for number in range(19)]
    collapsed = again(pair(19, -0.8), (0.0, 0.1, 0.0), (0.8, 0.7, 0.8))
    found = concluded([*rest, collapsed])
    assert found.tier is Tier.REGRESSION
    assert found.reason == "Further trials confirm large drops: scenario_19."


@pytest.mark.parametrize(
    ("head", "why"), [((0.31, 0.33, 0.32), "below 50 points"), ((0.9, 0.0, 0.0), "within five standard errors")]
)
def test_one_ordinary_scenario_does_not_block_by_less_than_a_collapse(head: Sequence[float], why: str) -> None:
    rest = [pair(number, 0.02) for number in range(19)]
    assert concluded([*rest, again(pair(19, -0.8), head, (0.8, 0.8, 0.8))]).tier is not Tier.REGRESSION, why


def test_of_recordings_one_scenario_that_collapses_blocks() -> None:
    rest = [pair(number, 0.02) for number in range(19)]
    assert concluded([*rest, pair(19, -0.45)], exact=True).tier is not Tier.REGRESSION
    assert concluded([*rest, pair(19, -0.5)], exact=True).tier is Tier.REGRESSION


def test_two_scenarios_that_drop_again_block() -> None:
    rest = [pair(number, 0.05) for number in range(18)]
    dropped = [again(pair(number, -0.3), (0.5,) * 3, (0.8,) * 3) for number in (18, 19)]
    assert concluded([*rest, *dropped]).tier is Tier.REGRESSION


def test_a_drop_that_was_bad_luck_is_judged_by_the_fresh_data_only() -> None:
    rest = [pair(number, 0.02) for number in range(19)]
    lucky = again(pair(19, -0.5, critical=True), (0.79, 0.8, 0.81), (0.8, 0.8, 0.8))
    assert concluded([*rest, lucky]).tier is not Tier.REGRESSION


def test_a_drop_within_the_scatter_of_its_own_trials_is_none() -> None:
    rest = [pair(number, 0.02) for number in range(19)]
    scattered = again(pair(19, -0.3, critical=True), (0.1, 0.5, 0.9), (0.8, 0.8, 0.8))
    assert concluded([*rest, scattered]).tier is not Tier.REGRESSION


def test_trials_that_happen_to_agree_are_not_more_certain_than_those_of_the_other_suspects() -> None:
    agree = ((0.50, 0.50, 0.50), (0.80, 0.80, 0.80))
    lucky = [again(pair(number, -0.3), *agree) for number in range(2)]
    calm = [pair(number, 0.12) for number in range(2, 20)]
    assert concluded([*lucky, *calm]).tier is Tier.REGRESSION
    wild = [again(pair(number, -0.3), (0.9, 0.5, 0.9), (0.5, 0.9, 0.9)) for number in range(2, 5)]
    assert concluded([*lucky, *wild, *calm[3:]]).tier is not Tier.REGRESSION


def test_too_much_scatter_to_rule_the_margin_out_is_unclear() -> None:
    pairs = [pair(number, 0.11 if number % 2 else -0.22, base=(0.8, 0.8)) for number in range(10)]
    found = examine(pairs, (), replace(RULES, screen_level=0.05), exact=False)
    assert isinstance(found, Comparison)
    assert found.tier is Tier.UNCLEAR
    assert "cannot be ruled out" in found.reason
    assert found.detectable is not None
    assert found.margin == max(0.10, found.detectable)


def test_a_single_run_of_the_base_scatters_more_so_less_of_a_drop_is_looked_at_again() -> None:
    changes = [-0.12 if number % 3 else 0.16 for number in range(20)]
    p = sign_flip_p([change + WAVES[number % 5] for number, change in enumerate(changes)])
    assert RULES.screen_level < p < RULES.single_run_screen_level
    assert set(wanted([pair(number, change) for number, change in enumerate(changes)]).trials.values()) == {1}
    concluded([pair(number, change, base=(0.8, 0.8)) for number, change in enumerate(changes)])


def test_levels_and_margins_are_those_of_the_rules() -> None:
    pairs = [again(pair(number, -0.05), (0.75, 0.76), (0.80, 0.81)) for number in range(20)]
    small = [pair(number) for number in range(7)]

    def tier(pairs: Sequence[Pair], **changes: Any) -> Tier | None:
        found = examine(pairs, (), replace(RULES, **changes), exact=False)
        return found.tier if isinstance(found, Comparison) else None

    assert tier(pairs, confirm_level=0.0000001, confirming_trials=2) is Tier.WITHIN_NOISE
    assert tier(pairs, screen_level=0.0000001, single_run_screen_level=0.0000001) is Tier.WITHIN_NOISE
    assert tier(pairs, confirm_level=0.0000001) is None, "a third look is to come"
    assert tier(small, min_scenarios=7) is Tier.WITHIN_NOISE
    assert tier([*small, pair(10, -0.1), *map(pair, range(11, 20))], scenario_drop=0.1) is None
    exact = examine([pair(0, -0.06)], (), replace(RULES, min_margin=0.05), exact=True)
    assert isinstance(exact, Comparison)
    assert exact.tier is Tier.REGRESSION


def test_the_smallest_drop_that_is_reported_grows_with_the_power_that_is_asked_for() -> None:
    pairs = [pair(number) for number in range(20)]
    reported = [examine(pairs, (), replace(RULES, detectable_power=power), exact=False) for power in (0.5, 0.8, 0.99)]
    drops = [one.detectable for one in reported if isinstance(one, Comparison) and one.detectable is not None]
    assert len(drops) == 3
    assert drops == sorted(set(drops))


def test_a_rise_beyond_chance_is_an_improvement() -> None:
    assert concluded([pair(number, 0.1) for number in range(20)]).tier is Tier.IMPROVED


def test_an_exact_difference_has_an_interval_over_the_conversations_that_decides_nothing() -> None:
    found = concluded([pair(0, -0.2), *(pair(number) for number in range(1, 4))], exact=True)
    assert found.low is not None
    assert found.high is not None
    assert found.difference is not None
    assert found.low < found.difference < found.high
    assert (found.low < -RULES.min_margin, found.tier) == (True, Tier.WITHIN_NOISE)
    assert concluded([pair(0, -0.05)], exact=True).low is None, "one conversation has no spread"


def test_nothing_to_compare_with_has_no_difference() -> None:
    missing = NotComparable("a", "", "the base has no scores of it")
    found = examine((), (missing,), RULES, exact=False)
    assert isinstance(found, Comparison)
    assert (found.tier, found.difference, found.not_comparable) == (Tier.NOT_COMPARABLE, None, (missing,))


def test_recorded_answers_have_no_noise_so_the_comparison_is_exact() -> None:
    same = [pair(number, -WAVES[number % 5]) for number in range(3)]
    assert concluded(same, exact=True).reason == (
        "The mean score did not change, exactly: each side ran once, and the gateway saw no new model call."
    )
    assert concluded([*same, pair(5, -0.3, critical=True)], exact=True).tier is Tier.REGRESSION
    assert concluded([*same, pair(5, -0.3), pair(10, -0.3)], exact=True).tier is Tier.REGRESSION
    assert concluded([*same, pair(5, -0.04)], exact=True).tier is Tier.WITHIN_NOISE


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=25), st.booleans())
def test_every_comparison_ends_and_never_blocks_without_fresh_data(
    scores: list[tuple[float, float]],
    exact: bool,  # noqa: FBT001 - drawn
) -> None:
    pairs = [Pair(f"s{number}", critical=False, base=(b,), head=(h,)) for number, (b, h) in enumerate(scores)]
    found = examine(pairs, (), RULES, exact=exact)
    if isinstance(found, Wanted):
        assert all(count > 0 for count in found.trials.values())
    else:
        assert exact or found.tier is not Tier.REGRESSION


@pytest.mark.parametrize("exact", [True, False])
def test_the_order_of_the_scenarios_does_not_matter(exact: bool) -> None:  # noqa: FBT001 - parametrised
    pairs = [again(pair(number, -0.05), (0.75, 0.76), (0.80, 0.81)) for number in range(20)]
    one, other = concluded(pairs, exact=exact), concluded(pairs[::-1], exact=exact)
    assert one.tier is other.tier
    assert one.difference == pytest.approx(other.difference)
