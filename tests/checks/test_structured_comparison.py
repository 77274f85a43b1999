from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.checks.turn_checks import first_difference
from ratiba_action.model.scenario import ExpectedOutput

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(_json)
def test_every_value_is_the_same_as_itself(value: Any) -> None:
    assert first_difference(ExpectedOutput(value), value) is None


@given(st.lists(_json, max_size=5).flatmap(lambda items: st.tuples(st.just(items), st.permutations(items))))
def test_a_permutation_is_the_same_when_order_is_ignored(lists: tuple[list[Any], list[Any]]) -> None:
    one, other = lists
    assert first_difference(ExpectedOutput({"items": one}, ignore_order=True), {"items": other}) is None


@given(_json, _json)
def test_the_comparison_says_the_same_in_both_directions(one: Any, other: Any) -> None:
    there, back = first_difference(ExpectedOutput(one), other), first_difference(ExpectedOutput(other), one)
    assert (there is None) == (back is None)


@given(_json, _json)
def test_what_is_ignored_never_counts(one: Any, other: Any) -> None:
    expected = ExpectedOutput({"kept": 1, "ignored": one}, ignore=("ignored",))
    assert first_difference(expected, {"kept": 1, "ignored": other}) is None
    assert first_difference(expected, {"kept": 2, "ignored": other}) == "kept is 2, not 1"


@given(st.text(max_size=20))
def test_white_space_is_ignored_only_where_that_is_said(text: str) -> None:
    spaced = f"  {text}\n\t"
    assert first_difference(ExpectedOutput(text, ignore_whitespace=True), spaced) is None
    assert first_difference(ExpectedOutput(text), spaced) is not None


@pytest.mark.parametrize(
    ("expected", "got", "difference"),
    [
        (1, 1.0, None),
        (1, True, "the answer is true, not 1"),
        (0, False, "the answer is false, not 0"),
        ("1", 1, 'the answer is 1, not "1"'),
        ({"a": None}, {}, "the answer has no 'a'"),
        ({}, {"a": None}, "the answer has 'a' besides"),
        ([1, 2], [1], "the answer has 1 items, not 2"),
        ([1, 2], [2, 1], "[0] is 2, not 1"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, "a[0].b is 2, not 1"),
        (None, {"a": 1}, 'the answer is {"a":1}, not null'),
    ],
)
def test_the_first_difference_is_reported_by_its_place(expected: Any, got: Any, difference: str | None) -> None:
    assert first_difference(ExpectedOutput(expected), got) == difference
