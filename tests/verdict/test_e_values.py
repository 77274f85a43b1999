"""Evidence that is valid at any look: exact expectations, Ville's bound by enumeration, values of closed forms."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.verdict.two_samples import BETS, concurrent_differences, log_e_value

TENTHS = st.integers(-10, 10).map(lambda number: number / 10)


def e_value(values: list[float], minimum: float = 1.0) -> float:
    return math.exp(log_e_value(values, minimum))


def by_hand(values: list[Fraction], minimum: Fraction) -> float:
    """The same mixture, bet by bet, with exact factors."""
    total = 0.0
    for number in range(BETS):
        bet = Fraction(2 ** (-number / 2)) / minimum
        total += float(math.prod((1 + bet * value for value in values), start=Fraction(1)))
    return total / BETS


@given(st.lists(TENTHS, max_size=30))
def test_it_is_the_mean_capital_of_the_bets(values: list[float]) -> None:
    exact = [Fraction(round(value * 10), 10) for value in values]
    assert e_value(values) == pytest.approx(by_hand(exact, Fraction(1)), rel=1e-9)


@given(
    st.lists(st.tuples(TENTHS, st.integers(1, 5)), min_size=1, max_size=4),
    st.integers(1, 4),
    st.sampled_from([1.0, 1.3]),
)
def test_its_expectation_is_at_most_1_where_the_mean_is_not_above_0(
    weighted: list[tuple[float, int]], length: int, minimum: float
) -> None:
    """Every sequence of a small distribution, whose mean is moved to zero or below, with its probability."""
    mass = sum(weight for _, weight in weighted)
    centre = max(0.0, sum(value * weight for value, weight in weighted) / mass)
    moved = [(value - centre, weight / mass) for value, weight in weighted]
    minimum = max(minimum, -min(value for value, _ in moved))
    expected = sum(
        math.prod(weight for _, weight in path) * e_value([value for value, _ in path], minimum)
        for path in itertools.product(moved, repeat=length)
    )
    assert expected <= 1 + 1e-9


@given(st.lists(TENTHS, max_size=8), st.integers(0, 10))
def test_no_next_value_of_a_fair_coin_makes_it_larger_on_average(before: list[float], size: int) -> None:
    up, down = e_value([*before, size / 10]), e_value([*before, -size / 10])
    assert (up + down) / 2 == pytest.approx(e_value(before), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("level", [0.1, 0.25])
def test_a_fair_coin_ever_reaches_1_over_level_with_at_most_that_probability(level: float) -> None:
    """Looks after each of 400 tosses; the number of heads is all that counts, so the probability is exact."""
    reached, alive = 0.0, {0: 1.0}
    for tosses in range(1, 401):
        following: dict[int, float] = {}
        for heads, mass in alive.items():
            for more in (0, 1):
                following[heads + more] = following.get(heads + more, 0.0) + mass / 2
        alive = {}
        for heads, mass in following.items():
            capital = sum(_coin(2 ** (-bet / 2), heads, tosses) for bet in range(BETS)) / BETS
            if capital >= 1 / level:
                reached += mass
            else:
                alive[heads] = mass
        if tosses == 40:
            some = next(iter(alive))
            again = e_value([1.0] * some + [-1.0] * (tosses - some))
            expected = sum(_coin(2 ** (-bet / 2), some, tosses) for bet in range(BETS)) / BETS
            assert again == pytest.approx(expected)
    assert level / 4 < reached <= level


def _coin(bet: float, heads: int, tosses: int) -> float:
    return float((1 + bet) ** heads * (1 - bet) ** (tosses - heads))


def test_the_order_of_values_does_not_matter_and_no_value_is_no_evidence() -> None:
    values = [0.3, -0.8, 0.1, 1.0]
    assert {round(log_e_value(list(order), 1.0), 12) for order in itertools.permutations(values)} == {
        round(log_e_value(values, 1.0), 12)
    }
    assert log_e_value([], 1.0) == pytest.approx(0)


def test_a_long_run_of_gains_overflows_nothing() -> None:
    assert log_e_value([1.0] * 100_000, 1.0) == pytest.approx(100_000 * math.log(2) - math.log(BETS), rel=1e-6)


@pytest.mark.parametrize("value", [-1.01, math.nan])
def test_a_value_out_of_bounds_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="below -1, or not a number"):
        log_e_value([0.5, value], 1.0)


def test_differences_are_of_values_that_arrived_together() -> None:
    values = [(False, 0.8), (False, 0.6), (True, 0.9), (True, 0.5), (True, 0.7), (False, 1.0), (False, 0.2)]
    assert concurrent_differences(values) == pytest.approx((0.9 - 0.7, 0.6 - 1.0))
    assert concurrent_differences([(True, 0.5)] * 9) == ()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10).map(lambda number: number / 10))))
def test_differences_do_not_change_when_more_arrives(values: list[tuple[bool, float]]) -> None:
    whole = concurrent_differences(values)
    part = concurrent_differences(values[: len(values) // 2])
    assert whole[: len(part)] == part
    assert all(-1 <= each <= 1 for each in whole)
