"""The note on a merge request, against a stand-in for GitLab: one a gate, updated, and never a command to GitLab."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import PublishError
from ratiba_action.github.attempts import CommentAttempt
from ratiba_action.github.comment import PullRequestComment
from ratiba_action.github.gitlab_note import as_note, without_quick_actions
from ratiba_action.github.marker import Marker, marker_of
from ratiba_action.model.verdict import Report
from ratiba_action.settings.gitlab import GitlabJob
from ratiba_action.util.http_exchange import RetryPolicy
from tests.support.gitlab_server import GitlabState, gitlab_server
from tests.support.sample_report import sample_report

REPORT = sample_report()
HEAD = REPORT.subject.head
PROJECT = "shops/spa/assistant"


def render(report: Report, _earlier: tuple[CommentAttempt, ...] = ()) -> str:
    return f"{marker_of(report)}\n## {report.verdict.reason}"


@pytest.fixture
def state() -> GitlabState:
    return GitlabState(project=PROJECT, heads={7: HEAD})


@pytest.fixture
def address(state: GitlabState) -> Iterator[str]:
    with gitlab_server(state) as base:
        yield base


def job(api: str, project: str = PROJECT) -> GitlabJob:
    return GitlabJob(api, project, f"https://gitlab.example/{project}", 7, 1, "", "pull_request", {})


TOKEN = GitlabState().token


def note(api: str, *, token: str = TOKEN, project: str = PROJECT, create: bool = True) -> PullRequestComment:
    comment = PullRequestComment("", render, create=create, deadline_seconds=60.0, retry=RetryPolicy(0.01))
    return as_note(comment, job(api, project), token)


def test_the_first_run_creates_the_note_of_a_project_in_a_subgroup(state: GitlabState, address: str) -> None:
    url = note(address).publish(REPORT)
    assert [one["body"] for one in state.notes] == [render(REPORT)]
    assert url == f"https://gitlab.example/{PROJECT}/-/merge_requests/7#note_1000"
    assert state.requests[-1] == ("POST", "/api/v4/projects/shops%2Fspa%2Fassistant/merge_requests/7/notes")


def test_the_note_is_found_behind_others_and_updated_in_place(state: GitlabState, address: str) -> None:
    for index in range(230):
        state.add_note(f"remark {index}", 5)
    ours = state.add_note(f"{Marker('ratiba', 'old', 1, 1)}\nold", state.user)
    note(address).publish(REPORT)
    assert ours["body"] == render(REPORT)
    assert state.written == ["PUT"]


def test_a_marker_in_the_note_of_another_author_counts_for_nothing(state: GitlabState, address: str) -> None:
    foreign = state.add_note(f"{Marker('ratiba', HEAD, 999_999, 1)}\nmine now", 5)
    note(address).publish(REPORT)
    assert foreign["body"].endswith("mine now")
    assert state.written == ["POST"]


def test_a_stale_run_leaves_the_newer_note_and_a_skipped_one_creates_none(state: GitlabState, address: str) -> None:
    assert note(address, create=False).publish(REPORT) is None
    state.add_note(f"{Marker('ratiba', HEAD, 999_999, 1)}\nnewer", state.user)
    with pytest.raises(PublishError, match="is newer"):
        note(address).publish(REPORT)
    assert state.written == []


def test_a_write_whose_answer_was_lost_leaves_one_note(state: GitlabState, address: str) -> None:
    state.faults = [0]
    assert note(address).publish(REPORT)
    assert len(state.notes) == 1
    state.faults = [502, 429]
    later = replace(REPORT, subject=replace(REPORT.subject, run_attempt=2))
    assert note(address).publish(later)
    assert [one["body"] for one in state.notes] == [render(later)]


@pytest.mark.parametrize(
    ("status", "message"), [(401, "is valid"), (403, "scope 'api'"), (404, "may read"), (422, "text"), (501, "again")]
)
def test_a_refusal_says_what_to_do(state: GitlabState, address: str, status: int, message: str) -> None:
    state.failure = (status, "insufficient_scope")
    with pytest.raises(PublishError) as caught:
        note(address).publish(REPORT)
    assert caught.value.problem == (
        f"The comment could not be posted: GitLab answered {status} ('insufficient_scope')."
    )
    assert message in caught.value.remedy
    assert "job's log" in caught.value.remedy


def test_without_a_token_or_with_one_that_is_none_nothing_is_sent(state: GitlabState, address: str) -> None:
    with pytest.raises(PublishError, match="RATIBA_GITLAB_TOKEN is empty"):
        note(address, token="").publish(REPORT)
    with pytest.raises(PublishError, match="is no token") as caught:
        note(address, token="PLANTED\r\nX: y").publish(REPORT)
    assert "PLANTED" not in str(caught.value)
    assert state.requests == []


@pytest.mark.parametrize("api", ["http://gitlab.example/api/v4", "", "ftp://127.0.0.1", "https://a:b@gitlab.example"])
def test_a_token_goes_over_https_only(api: str) -> None:
    with pytest.raises(PublishError, match="CI_API_V4_URL"):
        note(api).publish(REPORT)


@pytest.mark.parametrize("project", ["", "assistant", "../assistant", "shops/../x?y", "shops//x", "shops/a b"])
def test_what_is_no_path_of_a_project_is_refused(state: GitlabState, address: str, project: str) -> None:
    with pytest.raises(PublishError):
        note(address, project=project).publish(REPORT)
    assert not any(".." in path for _, path in state.requests)


@pytest.mark.parametrize(
    "line", ["/merge", "/close now", "  /approve", "> /merge", "- /label ~x", "/Merge", "/merge\r"]
)
def test_no_line_of_a_note_is_a_command(line: str) -> None:
    assert "/" in without_quick_actions(line)
    assert not without_quick_actions(f"text\n{line}\ntext").splitlines()[1].lstrip(" >-").startswith("/")


@given(st.text(alphabet="/ab \t\n\r>*-`"))
def test_whatever_a_note_says_it_is_the_same_without_the_invisible_character(text: str) -> None:
    assert without_quick_actions(text).replace("\u2060", "") == text
    assert without_quick_actions("/usr/bin/python: a/b\n </details>") == "/usr/bin/python: a/b\n </details>"
