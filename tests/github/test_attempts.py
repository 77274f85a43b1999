"""Earlier runs in a hidden line: what is written is read back, and nothing else is read."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.github.attempts import (
    EVENTS,
    MAX_ATTEMPTS,
    CommentAttempt,
    attempt_of,
    attempts_line,
    history,
    read_attempts,
)
from ratiba_action.github.marker import marker_of
from ratiba_action.model.change import Mode
from ratiba_action.model.verdict import Conclusion
from tests.support.sample_report import sample_report

MARKER = str(marker_of(sample_report()))
ONE = CommentAttempt(1001, 1, "a1b2c3d4e5f6", Mode.BLOCKING, Conclusion.FAILED, "pull_request")
LINE = "<!-- ratiba-eval-gate-attempts 1001.1:a1b2c3d4e5f6:blocking:failed:pull_request -->"

ATTEMPTS = st.builds(
    CommentAttempt,
    st.integers(1, 10**19 - 1),
    st.integers(1, 10**9 - 1),
    st.text("0123456789abcdef", min_size=7, max_size=12) | st.just("none"),
    st.sampled_from(Mode),
    st.sampled_from(Conclusion),
    st.sampled_from(EVENTS),
)
LISTS = st.lists(ATTEMPTS, max_size=MAX_ATTEMPTS, unique_by=lambda one: (one.run_id, one.number)).map(tuple)


def body(line: str) -> str:
    return f"{MARKER}\n{line}\n## Failed: ratiba\n"


def test_an_attempt_says_run_commit_mode_result_and_event() -> None:
    assert attempt_of(sample_report()) == ONE
    assert attempts_line((ONE,)) == LINE
    assert read_attempts(body(LINE)) == (ONE,)


@given(LISTS)
def test_what_is_written_is_read_back(attempts: tuple[CommentAttempt, ...]) -> None:
    assert read_attempts(body(attempts_line(attempts))) == attempts


@given(LISTS)
def test_line_ends_of_a_form_do_not_matter(attempts: tuple[CommentAttempt, ...]) -> None:
    assert read_attempts(body(attempts_line(attempts)).replace("\n", "\r\n")) == attempts


PIECES = st.sampled_from(
    [LINE, MARKER, "\n", "<!-- ratiba-eval-gate-attempts ", " -->", "1001.1:", "none:", "blocking:", "failed:", " "]
)


@given(st.text() | st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
def test_no_text_raises_or_is_read_as_anything_but_what_would_be_written(text: str) -> None:
    attempts = read_attempts(text)
    assert len(attempts) <= MAX_ATTEMPTS
    if attempts:
        assert text.split("\n")[1].removesuffix("\r") == attempts_line(attempts)


@pytest.mark.parametrize(
    "line",
    [
        LINE.replace("1001.1", "01001.1"),
        LINE.replace("1001.1", "0.1"),
        LINE.replace("1001.1", "١.1"),
        LINE.replace("a1b2c3d4e5f6", "A1B2C3D4E5F6"),
        LINE.replace("a1b2c3d4e5f6", "a1b2"),
        LINE.replace("failed", "fine"),
        LINE.replace("blocking", "lenient"),
        LINE.replace("pull_request", "issue_comment"),
        LINE.replace(" -->", "  -->"),
        f" {LINE}",
        f"{LINE} more",
        LINE.replace(" 1001", " 1001.1:a1b2c3d4e5f6:blocking:failed:pull_request 1001"),
        attempts_line(tuple(replace(ONE, number=number) for number in range(1, MAX_ATTEMPTS + 2))),
        "<!-- ratiba-eval-gate-attempts -->",
    ],
)
def test_a_line_with_one_thing_wrong_counts_for_nothing(line: str) -> None:
    assert read_attempts(body(line)) == ()


def test_a_line_further_down_counts_for_nothing() -> None:
    assert read_attempts(f"{MARKER}\n## Failed\n{LINE}\n") == ()


def test_the_present_attempt_comes_last_and_replaces_itself() -> None:
    passed = replace(ONE, conclusion=Conclusion.PASSED)
    other = replace(ONE, run_id=1002)
    assert history((ONE, other), passed) == (other, passed)


@given(LISTS, ATTEMPTS)
def test_at_most_ten_are_kept_and_the_oldest_go(earlier: tuple[CommentAttempt, ...], present: CommentAttempt) -> None:
    kept = history(earlier, present)
    assert len(kept) <= MAX_ATTEMPTS
    assert kept[-1] == present
    assert history((*earlier, present)[-MAX_ATTEMPTS:], present) == kept


def test_outside_a_workflow_there_is_no_attempt() -> None:
    report = sample_report()
    local = replace(report, subject=replace(report.subject, run_id=0))
    assert attempt_of(local) is None
    assert history((ONE,), None) == (ONE,)
    assert attempts_line(()) == ""


@given(st.text(), st.text())
def test_no_commit_or_event_breaks_out_of_the_line(head: str, event: str) -> None:
    report = sample_report()
    attempt = attempt_of(replace(report, subject=replace(report.subject, head=head, event=event)))
    assert attempt is not None
    assert read_attempts(body(attempts_line((attempt,)))) == (attempt,)
