"""The hidden line that a comment is found by."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.core.marker import Marker, is_stale, marker_of, read_marker
from ratiba_action.testing.sample_report import sample_report

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
