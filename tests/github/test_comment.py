"""The sticky comment against a stand-in for GitHub: found, updated, left alone, or explained."""

from dataclasses import replace

import pytest

from ratiba_action.errors import PublishError
from ratiba_action.github.attempts import CommentAttempt, attempt_of, attempts_line, history, read_attempts
from ratiba_action.github.comment import ACTIONS_BOT, PullRequestComment
from ratiba_action.github.marker import Marker, marker_of
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from tests.support.github_server import GithubState, github_server
from tests.support.github_state import Fault
from tests.support.sample_report import sample_report

REPORT = sample_report()
HEAD = REPORT.subject.head


def render(report: Report, _earlier: tuple[CommentAttempt, ...] = ()) -> str:
    return f"{marker_of(report)}\n## {report.verdict.reason}"


def written(state: GithubState) -> list[str]:
    return [method for method, _ in state.requests if method != "GET"]


def test_the_first_run_creates_the_comment(state: GithubState, address: str) -> None:
    url = PullRequestComment("token", render, address).publish(REPORT)
    assert [comment["body"] for comment in state.comments] == [render(REPORT)]
    assert url == "https://github.com/ratiba/assistant/pull/7#issuecomment-1000"


def test_the_comment_is_found_behind_a_hundred_others_and_updated_in_place(state: GithubState, address: str) -> None:
    for index in range(230):
        state.add_comment(f"remark {index}", "someone")
    ours = state.add_comment(f"{Marker('ratiba', 'old', 1, 1)}\nold", ACTIONS_BOT)
    PullRequestComment("token", render, address).publish(REPORT)
    assert ours["body"] == render(REPORT)
    assert [method for method, _ in state.requests] == ["GET"] * 4 + ["PATCH"]


@pytest.mark.parametrize("create", [True, False])
def test_a_comment_that_is_deleted_after_it_was_listed_is_written_anew_once(
    state: GithubState, address: str, *, create: bool
) -> None:
    state.add_comment(f"{Marker('ratiba', 'old', 1, 1)}\nold", ACTIONS_BOT)
    state.faults.append(Fault("PATCH", status=404, message="Not Found"))
    url = PullRequestComment("token", render, address, create=create).publish(REPORT)
    assert written(state) == (["PATCH", "POST"] if create else ["PATCH"])
    assert (url is not None) is create


def test_a_marker_in_the_comment_of_another_author_counts_for_nothing(state: GithubState, address: str) -> None:
    foreign = state.add_comment(f"{Marker('ratiba', HEAD, 999_999, 1)}\nmine now", "mallory")
    PullRequestComment("token", render, address).publish(REPORT)
    assert foreign["body"].endswith("mine now")
    assert written(state) == ["POST"]


def test_each_gate_keeps_its_own_comment(state: GithubState, address: str) -> None:
    publisher = PullRequestComment("token", render, address)
    publisher.publish(REPORT)
    publisher.publish(sample_report(name="nightly"))
    assert len(state.comments) == 2


def test_the_author_may_be_an_app_of_the_user(state: GithubState, address: str) -> None:
    state.login = "ratiba-app[bot]"
    publisher = PullRequestComment("token", render, address, author="ratiba-app[bot]")
    publisher.publish(REPORT)
    publisher.publish(replace(REPORT, subject=replace(REPORT.subject, run_attempt=2)))
    assert written(state) == ["POST", "PATCH"]


@pytest.mark.parametrize("theirs", [Marker("ratiba", HEAD, 2_000, 1), Marker("ratiba", HEAD, 1_001, 2)])
def test_a_stale_run_leaves_the_newer_comment(state: GithubState, address: str, theirs: Marker) -> None:
    newer = state.add_comment(f"{theirs}\nnewer", ACTIONS_BOT)
    with pytest.raises(PublishError, match="is newer"):
        PullRequestComment("token", render, address).publish(REPORT)
    assert newer["body"].endswith("newer")
    assert written(state) == []


def test_a_run_of_an_earlier_commit_leaves_the_comment_of_the_current_one(state: GithubState, address: str) -> None:
    state.heads[7] = "f" * 40
    state.add_comment(f"{Marker('ratiba', 'f' * 40, 1, 1)}\ncurrent", ACTIONS_BOT)
    with pytest.raises(PublishError, match="is newer"):
        PullRequestComment("token", render, address).publish(REPORT)
    assert written(state) == []


def test_a_skipped_run_marks_an_earlier_comment_and_creates_none(state: GithubState, address: str) -> None:
    publisher = PullRequestComment("token", render, address, create=False)
    assert publisher.publish(REPORT) is None
    assert written(state) == []
    earlier = state.add_comment(f"{Marker('ratiba', 'old', 1, 1)}\nfailed", ACTIONS_BOT)
    assert publisher.publish(REPORT)
    assert earlier["body"] == render(REPORT)


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "is valid"), (403, "pull-requests: write"), (404, "number"), (422, "text"), (501, "again")],
)
def test_a_refusal_says_what_to_do_and_is_not_repeated(
    state: GithubState, address: str, status: int, message: str
) -> None:
    state.failure = (status, "Resource not accessible by integration")
    with pytest.raises(PublishError) as caught:
        PullRequestComment("token", render, address).publish(REPORT)
    assert str(status) in caught.value.problem
    assert message in caught.value.remedy
    assert "step summary" in caught.value.remedy
    assert len(state.requests) == 1


def test_an_answer_that_is_not_githubs_is_a_warning_too(state: GithubState, address: str) -> None:
    state.failure = (200, "Welcome to the proxy")
    with pytest.raises(PublishError, match="could not be posted"):
        PullRequestComment("token", render, address).publish(REPORT)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Unable to create comment because issue is locked.", "Unlock the pull request's conversation"),
        ("Resource not accessible: blocked", "permissions"),
    ],
)
def test_a_locked_conversation_is_no_lack_of_permissions(
    state: GithubState, address: str, message: str, reason: str
) -> None:
    state.failure = (403, message)
    with pytest.raises(PublishError) as caught:
        PullRequestComment("token", render, address).publish(REPORT)
    assert reason in caught.value.remedy


def test_a_forks_token_may_read_and_not_write(state: GithubState, address: str) -> None:
    state.failure, state.failing_methods = (403, "Resource not accessible by integration"), frozenset({"POST"})
    with pytest.raises(PublishError, match="403"):
        PullRequestComment("token", render, address).publish(REPORT)
    assert state.comments == []


def test_a_body_that_github_refuses_leaves_the_old_comment(state: GithubState, address: str) -> None:
    old = state.add_comment(f"{Marker('ratiba', 'old', 1, 1)}\nold", ACTIONS_BOT)
    with pytest.raises(PublishError, match="422"):
        PullRequestComment("token", lambda report, _: render(report) + "x" * 70_000, address).publish(REPORT)
    assert old["body"].endswith("old")


def test_a_server_that_does_not_answer_costs_the_deadline_and_no_more(state: GithubState, address: str) -> None:
    state.gate.clear()
    with pytest.raises(PublishError, match=r"longer than 0\.2 s"):
        PullRequestComment("token", render, address, deadline_seconds=0.2).publish(REPORT)
    assert state.comments == []


@pytest.mark.usefixtures("short_waits")
def test_an_address_where_nobody_listens_is_named(state: GithubState) -> None:
    with github_server(state) as gone:
        pass
    with pytest.raises(PublishError, match=gone):
        PullRequestComment("token", render, gone).publish(REPORT)


def test_without_a_token_or_a_pull_request_nothing_is_asked(state: GithubState, address: str) -> None:
    with pytest.raises(PublishError, match="github-token is empty"):
        PullRequestComment("", render, address).publish(REPORT)
    local = replace(REPORT, subject=replace(REPORT.subject, pull_request=None))
    with pytest.raises(PublishError, match="no pull request"):
        PullRequestComment("token", render, address).publish(local)
    assert state.requests == []


def test_the_token_is_not_shown() -> None:
    assert "ghs_planted" not in repr(PullRequestComment("ghs_planted", render))


def listed(report: Report, earlier: tuple[CommentAttempt, ...]) -> str:
    """A comment with the hidden line of attempts, as the real one has it."""
    attempts = history(earlier, attempt_of(report))
    return f"{marker_of(report)}\n{attempts_line(attempts)}\n## {report.verdict.reason}"


def rerun(attempt: int, conclusion: Conclusion = Conclusion.FAILED) -> Report:
    return replace(
        REPORT,
        subject=replace(REPORT.subject, run_attempt=attempt),
        verdict=Verdict(conclusion, f"Attempt {attempt}."),
    )


def test_each_rerun_is_given_the_attempts_before_it(state: GithubState, address: str) -> None:
    publisher = PullRequestComment("token", listed, address)
    for attempt in range(1, 4):
        publisher.publish(rerun(attempt))
    (comment,) = state.comments
    assert [one.number for one in read_attempts(comment["body"])] == [1, 2, 3]
    assert comment["body"].endswith("## Attempt 3.")


def test_the_same_attempt_published_twice_is_listed_once_with_its_last_word(state: GithubState, address: str) -> None:
    publisher = PullRequestComment("token", listed, address)
    publisher.publish(rerun(1, Conclusion.INCOMPLETE))
    publisher.publish(rerun(1, Conclusion.PASSED))
    (attempt,) = read_attempts(state.comments[0]["body"])
    assert attempt.conclusion is Conclusion.PASSED


def test_attempts_in_the_comment_of_another_author_are_not_taken_over(state: GithubState, address: str) -> None:
    state.add_comment(listed(rerun(5), ()), "mallory")
    PullRequestComment("token", listed, address).publish(rerun(1))
    assert [one.number for one in read_attempts(state.comments[1]["body"])] == [1]


def test_a_comment_of_an_older_version_has_no_attempts(state: GithubState, address: str) -> None:
    state.add_comment(f"{Marker('ratiba', 'old', 1, 1)}\n## Failed", ACTIONS_BOT)
    PullRequestComment("token", listed, address).publish(rerun(1))
    assert [one.number for one in read_attempts(state.comments[0]["body"])] == [1]


def test_a_stale_run_does_not_enter_itself_into_the_newer_comment(state: GithubState, address: str) -> None:
    publisher = PullRequestComment("token", listed, address)
    publisher.publish(rerun(2))
    with pytest.raises(PublishError, match="is newer"):
        publisher.publish(rerun(1))
    assert [one.number for one in read_attempts(state.comments[0]["body"])] == [2]
