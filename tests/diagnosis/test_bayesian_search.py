"""Attribution of failures that vary by chance."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiba_action.diagnosis.bayesian_search import attribute_by_chance
from ratiba_action.diagnosis.delta_debugging import NoFurtherStepError, StepOutcome, Subset
from ratiba_action.model.attribution import Attribution, Finding

CERTAIN = (Finding.FOUND, Finding.SEVERAL)


class Flaky:
    """A scenario that fails in nine of ten runs with a cause, and in one of twenty without."""

    def __init__(
        self, causes: Sequence[set[int]], seed: int, *, maximum: int = 200, unresolved: Sequence[int] = ()
    ) -> None:
        self.causes, self.random = [frozenset(cause) for cause in causes], random.Random(seed)  # noqa: S311 - a simulation
        self.maximum, self.unresolved, self.asked = maximum, frozenset(unresolved), list[Subset]()

    def __call__(self, subset: Subset) -> StepOutcome:
        if len(self.asked) >= self.maximum:
            raise NoFurtherStepError("the limit was reached")
        self.asked.append(subset)
        if self.unresolved and subset & self.unresolved and not self.unresolved <= subset:
            return StepOutcome.UNRESOLVED
        fails = any(cause <= subset for cause in self.causes)
        return StepOutcome.FAILS if self.random.random() < (0.9 if fails else 0.05) else StepOutcome.PASSES


def attributed(parts: int, causes: Sequence[set[int]], count: int = 8) -> list[Attribution]:
    return [attribute_by_chance(parts, Flaky(causes, seed), seed) for seed in range(count)]


@pytest.mark.parametrize(
    ("parts", "causes", "max_runs"),
    [(1, [{0}], 12), (6, [{4}], 20), (6, [{1, 4}], 30), (6, [{1}, {4}], 30), (30, [{17}], 25)],
)
def test_the_cause_is_named_in_about_two_dozen_runs(parts: int, causes: list[set[int]], max_runs: int) -> None:
    found = attributed(parts, causes)
    right = [each for each in found if sorted(each.causes) == sorted(tuple(sorted(cause)) for cause in causes)]
    assert len(right) >= 7
    assert all(each.finding in CERTAIN and each.by_chance for each in right)
    assert sum(each.steps for each in found) / len(found) <= max_runs


def test_a_failure_that_no_part_causes_is_called_that() -> None:
    found = attributed(6, [])
    assert sum(each.finding is Finding.NONE for each in found) >= 7
    assert found[0].why == "the whole change passes when it is run again; the failure varies by chance"
    assert attributed(6, [set()], 1)[0].why.startswith("the base fails as well")


def test_a_failure_that_every_run_showed_is_not_said_to_vary() -> None:
    found = attribute_by_chance(6, lambda _: StepOutcome.FAILS)
    assert (found.finding, found.why) == (Finding.NONE, "the base fails as well")


def test_causes_of_three_parts_are_named_by_nobody() -> None:
    for seed in range(3):
        found = attribute_by_chance(6, Flaky([{0, 2, 5}], seed, maximum=50), seed)
        assert found.finding not in CERTAIN, found


def test_what_is_known_when_the_runs_end_is_said_with_its_probability() -> None:
    found = [attribute_by_chance(8, Flaky([{3}], seed, maximum=9), seed) for seed in range(8)]
    some = [each for each in found if each.finding is Finding.ONE_OF]
    assert some
    assert all(each.why == "with a probability of 95%; the limit was reached" for each in some)
    assert sum(3 in each.parts for each in some) >= len(some) - 1
    early = attribute_by_chance(8, Flaky([{3}], 1, maximum=1), 1)
    assert (early.finding, early.causes, early.why) == (Finding.NOT_RESOLVED, (), "the limit was reached")


def test_parts_that_do_not_build_one_without_the_other_are_never_distinguished() -> None:
    for seed in range(4):
        found = attribute_by_chance(4, Flaky([{0}], seed, unresolved=(0, 1)), seed)
        assert found.finding not in CERTAIN, found


def test_nothing_that_runs_is_no_answer() -> None:
    found = attribute_by_chance(3, lambda _: StepOutcome.UNRESOLVED)
    assert (found.finding, found.why) == (Finding.NOT_RESOLVED, "too many combinations could not be run")


def test_the_same_seed_asks_for_the_same_subsets() -> None:
    first, second = Flaky([{2}], 5), Flaky([{2}], 5)
    assert attribute_by_chance(6, first, 3) == attribute_by_chance(6, second, 3)
    assert first.asked == second.asked


def test_the_confirmation_runs_both_sides_in_turns() -> None:
    flaky = Flaky([{2}], 1)
    found = attribute_by_chance(6, flaky, 1)
    assert found.finding is Finding.FOUND
    alone, without = frozenset({2}), frozenset({0, 1, 3, 4, 5})
    order = [subset for subset in flaky.asked[-8:] if subset in (alone, without)]
    assert len(order) == 8
    assert order not in ([alone] * 4 + [without] * 4, [without] * 4 + [alone] * 4)


def test_a_change_of_two_hundred_parts_is_searched_too() -> None:
    found = attribute_by_chance(200, Flaky([{177}], 2), 2)
    assert (found.finding, found.parts) == (Finding.FOUND, (177,))
    assert found.steps <= 40


@settings(max_examples=15)  # one takes 0.1 s
@given(st.integers(1, 8), st.data(), st.integers(0, 2**31), st.integers(1, 40))
def test_no_harmless_part_is_called_the_cause(parts: int, data: st.DataObject, seed: int, maximum: int) -> None:
    guilty = data.draw(st.lists(st.integers(0, parts - 1), min_size=1, max_size=2, unique=True))
    causes = [set(guilty)] if data.draw(st.booleans()) else [{part} for part in guilty]
    found = attribute_by_chance(parts, Flaky(causes, seed, maximum=maximum), seed)
    if found.finding in CERTAIN:
        assert set(found.parts) == set(guilty)
