"""The hidden line that a comment is found by."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.github.marker import Marker, is_stale, marker_of, read_marker
from tests.support.sample_report import sample_report

OURS = Marker("ratiba", "new", 10, 1)


def test_a_marker_is_read_back_from_the_start_of_a_comment() -> None:
    marker = marker_of(sample_report())
    assert read_marker(f"{marker}\n## Failed") == marker


def test_a_marker_further_down_is_not_ours() -> None:
    assert read_marker(f"quoted:\n{marker_of(sample_report())}") is None


@given(st.text(), st.text())
def test_no_name_or_commit_breaks_out_of_the_marker(name: str, head: str) -> None:
    report = sample_report(name=name)
    marker = marker_of(replace(report, subject=replace(report.subject, head=head)))
    assert read_marker(str(marker)) == marker
    assert str(marker).count("-->") == 1
    assert "\n" not in str(marker)


def test_names_that_look_alike_keep_apart() -> None:
    assert marker_of(sample_report(name="a b")).name != marker_of(sample_report(name="a/b")).name


@pytest.mark.parametrize(
    ("theirs", "stale"),
    [
        (Marker("ratiba", "new", 11, 1), True),
        (Marker("ratiba", "new", 10, 2), True),
        (Marker("ratiba", "new", 10, 1), False),
        (Marker("ratiba", "new", 9, 5), False),
        (Marker("ratiba", "old", 11, 1), False),
    ],
)
def test_the_later_run_of_the_current_commit_keeps_its_comment(theirs: Marker, stale: bool) -> None:  # noqa: FBT001 - a column
    assert is_stale(OURS, theirs, current_head="new") is stale


def test_a_run_of_an_old_commit_leaves_the_current_ones_comment() -> None:
    assert is_stale(Marker("ratiba", "old", 99, 1), OURS, current_head="new")


def test_between_two_old_commits_the_later_run_wins() -> None:
    assert is_stale(Marker("ratiba", "older", 1, 1), Marker("ratiba", "old", 2, 1), current_head="new")


MARKERS = st.builds(
    Marker, st.just("ratiba"), st.sampled_from(["new", "old", "older"]), st.integers(0, 3), st.integers(0, 3)
)


@given(MARKERS, MARKERS)
def test_of_two_runs_exactly_one_gives_way_unless_neither_is_newer(one: Marker, other: Marker) -> None:
    gives_way = [is_stale(one, other, "new"), is_stale(other, one, "new")]
    as_new = (one.head == "new", one.run_id, one.run_attempt) == (other.head == "new", other.run_id, other.run_attempt)
    assert gives_way.count(True) == (0 if as_new else 1)


@given(MARKERS, MARKERS, MARKERS)
def test_a_run_that_gives_way_to_a_second_gives_way_to_whatever_the_second_gives_way_to(
    first: Marker, second: Marker, third: Marker
) -> None:
    if is_stale(first, second, "new") and is_stale(second, third, "new"):
        assert is_stale(first, third, "new")


@given(st.lists(MARKERS, min_size=1).flatmap(lambda runs: st.tuples(st.just(runs), st.permutations(runs))))
def test_whichever_order_runs_end_in_the_same_comment_is_left(orders: tuple[list[Marker], list[Marker]]) -> None:
    def left(order: list[Marker]) -> Marker:
        shown = order[0]
        for ours in order[1:]:
            shown = shown if is_stale(ours, shown, "new") else ours
        return shown

    one, other = (left(order) for order in orders)
    assert (one.head == "new", one.run_id, one.run_attempt) == (other.head == "new", other.run_id, other.run_attempt)
