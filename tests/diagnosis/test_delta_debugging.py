"""Delta debugging over the parts of a change."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.diagnosis.delta_debugging import (
    NoFurtherStepError,
    StepOutcome,
    Subset,
    apply_parts,
    attribute,
    split,
)
from ratiba_action.model.attribution import Finding


def needs(*causes: set[int]) -> "Asked":
    """A scenario that fails as soon as all parts of one of the causes are applied."""
    return Asked([frozenset(cause) for cause in causes])


class Asked:
    def __init__(self, causes: list[Subset], *, unresolved: Subset = frozenset(), maximum: int = 1_000) -> None:
        self.causes, self.unresolved, self.maximum = causes, unresolved, maximum
        self.subsets: list[Subset] = []

    def __call__(self, subset: Subset) -> StepOutcome:
        if len(self.subsets) >= self.maximum:
            raise NoFurtherStepError(f"{self.maximum} steps were made")
        self.subsets.append(subset)
        if self.unresolved and subset == self.unresolved:
            return StepOutcome.UNRESOLVED
        return StepOutcome.FAILS if any(cause <= subset for cause in self.causes) else StepOutcome.PASSES


@pytest.mark.parametrize("parts", [1, 2, 3, 6, 16, 50])
def test_one_guilty_part_is_found_in_about_twice_the_logarithm(parts: int) -> None:
    for guilty in range(parts):
        asked = needs({guilty})
        found = attribute(parts, asked)
        assert (found.finding, found.parts) == (Finding.FOUND, (guilty,))
        assert found.steps <= 2 * math.ceil(math.log2(parts)) + 6 if parts > 1 else found.steps == 2
        assert len(set(asked.subsets)) == len(asked.subsets), "no subset is run twice"


def test_two_parts_that_fail_only_together_are_named_together() -> None:
    found = attribute(6, needs({1, 4}))
    assert (found.finding, found.parts) == (Finding.FOUND, (1, 4))


def test_groups_that_each_fail_on_their_own_are_all_named() -> None:
    found = attribute(6, needs({1}, {4}))
    assert (found.finding, sorted(found.causes), found.parts) == (Finding.SEVERAL, [(1,), (4,)], (1, 4))
    found = attribute(8, needs({1, 6}, {4}, {2}))
    assert (found.finding, found.parts, found.why) == (Finding.SEVERAL, (1, 2, 4, 6), "")


def test_a_second_cause_is_said_to_be_there_when_the_steps_end() -> None:
    asked = needs({0}, {7})
    complete = attribute(8, asked).steps
    found = attribute(8, Asked([frozenset({0}), frozenset({7})], maximum=complete - 3))
    assert found.finding is Finding.SEVERAL
    assert found.parts in {(0,), (7,)}
    assert found.why.startswith("another cause is in the rest of the change: ")


def test_a_base_that_fails_too_and_a_change_that_passes_have_no_cause() -> None:
    assert attribute(3, needs(set())).finding is Finding.NONE
    assert attribute(3, needs()).why == "the whole change passes when it is run again"


def test_what_is_certain_when_the_steps_end_is_said() -> None:
    asked = Asked([frozenset({5})], maximum=4)
    found = attribute(8, asked)
    assert (found.finding, found.why) == (Finding.ONE_OF, "4 steps were made")
    assert 5 in found.parts
    assert len(found.parts) < 8


def test_parts_that_could_not_be_run_alone_are_never_called_the_cause_for_certain() -> None:
    # The cause is part 0, but it does not build without part 1.
    found = attribute(2, Asked([frozenset({0})], unresolved=frozenset({0})))
    assert (found.finding, found.parts) == (Finding.ONE_OF, (0, 1))


def test_a_base_that_could_not_be_run_confirms_no_cause() -> None:
    found = attribute(1, lambda subset: StepOutcome.FAILS if subset else StepOutcome.UNRESOLVED)
    assert (found.finding, found.why) == (Finding.ONE_OF, "the change without them could not be run")


def test_a_change_that_could_not_be_run_again_is_not_called_innocent() -> None:
    found = attribute(2, lambda _: StepOutcome.UNRESOLVED)
    assert (found.finding, found.parts) == (Finding.ONE_OF, (0, 1))
    assert "could not be run again" in found.why


@st.composite
def changes(draw: st.DrawFn) -> tuple[int, Subset]:
    parts = draw(st.integers(1, 12))
    guilty = draw(st.sets(st.integers(0, parts - 1), min_size=1, max_size=3))
    return parts, frozenset(guilty)


@given(changes(), st.integers(1, 60))
def test_no_harmless_part_is_ever_called_the_cause(change: tuple[int, Subset], maximum: int) -> None:
    parts, guilty = change
    found = attribute(parts, Asked([guilty], maximum=maximum))
    if found.finding is Finding.FOUND:
        assert frozenset(found.parts) == guilty
    else:
        assert found.finding is Finding.ONE_OF
        assert guilty <= frozenset(found.parts)


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8), st.data())
def test_lines_of_a_prompt_are_parts_that_can_be_left_out_one_by_one(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    base, head = ("".join(f"{line}\n" for line in lines).encode() for lines in (before, after))
    parts = split("prompts/a.md", base, head, by_line=True)
    chosen = data.draw(st.permutations(parts))
    assert apply_parts(base, chosen) == head, "whatever the order in which they are given"
    assert apply_parts(base, []) == base


def test_neighbouring_lines_of_a_prompt_are_parts_of_their_own() -> None:
    base, head = b"Be kind.\nAsk for the ticket.\nBye.\n", b"Be very kind.\nAsk for nothing.\nBye.\nPS.\nPPS.\n"
    parts = split("prompts/a.md", base, head, by_line=True)
    assert [(part.line, part.removed, part.added) for part in parts] == [
        (1, ("Be kind.\n",), ("Be very kind.\n",)),
        (2, ("Ask for the ticket.\n",), ("Ask for nothing.\n",)),
        (4, (), ("PS.\n",)),
        (5, (), ("PPS.\n",)),
    ]
    assert apply_parts(base, [parts[1], parts[3]]) == b"Be kind.\nAsk for nothing.\nBye.\nPPS.\n"
    assert len(split("prompts/a.md", base, head)) == 2, "of code, a run of lines is one part"
