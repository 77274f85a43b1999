from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.canonical import in_sample

NAMES = [(f"scenario_{number}", "swahili_fluency:1.0.0", "ab" * 32) for number in range(2_000)]


@given(st.floats(0, 1), st.text(), st.text())
def test_a_sample_is_the_same_in_every_run(share: float, one: str, two: str) -> None:
    assert in_sample(share, one, two) is in_sample(share, one, two)


@given(st.floats(0, 1), st.floats(0, 1), st.text())
def test_a_larger_share_holds_all_that_a_smaller_one_holds(share: float, other: float, name: str) -> None:
    small, large = sorted((share, other))
    assert in_sample(large, name) or not in_sample(small, name)


@given(st.lists(st.text()))
def test_nothing_is_in_an_empty_sample_and_everything_in_a_full_one(identity: list[str]) -> None:
    assert not in_sample(0, *identity)
    assert in_sample(1, *identity)


def test_a_share_of_many_is_about_that_share() -> None:
    assert 150 < sum(in_sample(0.10, *name) for name in NAMES) < 250


def test_each_part_of_the_identity_counts() -> None:
    drawn = [in_sample(0.5, *("x" * (place == changed) + part for place, part in enumerate(name)))
             for changed in range(-1, 3) for name in NAMES]  # fmt: skip
    columns = [tuple(drawn[start : start + len(NAMES)]) for start in range(0, len(drawn), len(NAMES))]
    assert len(set(columns)) == 4
