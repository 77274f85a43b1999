"""What every client of GitHub's API holds to, with packages and without; the stand-in checks GitHub's description."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import GithubError
from ratiba_action.github.clients import by_pygithub
from ratiba_action.github.github_api import GithubApi
from ratiba_action.github.urllib_repository import UrllibRepository
from ratiba_action.ports import GithubRepository
from ratiba_action.util.http_exchange import RetryPolicy
from tests.support.git_repository import GitRepository
from tests.support.github_server import Fault, GithubState, Pull, github_server
from tests.support.github_state import Artifact, Run
from tests.support.raw_server import answering, raw_server

TOKEN = "ghs_planted"
HEAD, BASE = "a" * 40, "b" * 40
FAST = RetryPolicy(first_seconds=0.001, max_tries=3)

Connect = Callable[..., GithubRepository]


@pytest.fixture
def state() -> GithubState:
    return GithubState(heads={7: HEAD})


@pytest.fixture
def address(state: GithubState) -> Iterator[str]:
    with github_server(state) as base:
        yield base


@pytest.fixture(params=[UrllibRepository, by_pygithub], ids=["standard library", "PyGithub"])
def connect(request: pytest.FixtureRequest) -> Connect:
    client: Callable[[GithubApi], GithubRepository] = request.param
    return lambda address, **changes: client(
        GithubApi("ratiba/assistant", TOKEN, address, **({"retry": FAST} | changes))
    )


@pytest.fixture
def github(connect: Connect, address: str) -> GithubRepository:
    return connect(address)


def test_a_client_that_is_made_asks_nothing(connect: Connect, state: GithubState, address: str) -> None:
    connect(address)
    assert state.requests == []


def test_a_pull_request_is_one_request_with_token_and_version(github: GithubRepository, state: GithubState) -> None:
    assert github.pull_request(7)["head"]["sha"] == HEAD
    (request,) = state.received
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["x-github-api-version"] == "2022-11-28"


def test_the_open_pull_requests_of_a_branch(github: GithubRepository, state: GithubState) -> None:
    state.pulls[8] = Pull(branch="a&state=closed b", head_repository="other/assistant")
    state.pulls[9] = Pull(branch="a&state=closed b", head_repository="other/assistant", state="closed")
    assert [pull["number"] for pull in github.open_pull_requests("other:a&state=closed b")] == [8]


def test_every_page_of_the_changed_files_is_read_with_both_names(github: GithubRepository, state: GithubState) -> None:
    state.pulls[7] = Pull(files=(*(f"prompts/{number}.md" for number in range(230)), ("new.md", "old.md")))
    rows = list(github.changed_files(7))
    assert [row["filename"] for row in rows[:1] + rows[-1:]] == ["prompts/0.md", "new.md"]
    assert rows[-1]["previous_filename"] == "old.md"
    assert len(state.requests) == 3


def test_only_as_many_pages_are_read_as_are_used(github: GithubRepository, state: GithubState) -> None:
    for number in range(230):
        state.add_comment(f"remark {number}", "someone")
    assert next(github.comments(7))["body"] == "remark 0"
    assert len(state.requests) == 1


def test_an_enterprise_server_has_its_api_below_a_path(connect: Connect, state: GithubState) -> None:
    for _ in range(101):
        state.add_comment("remark", "someone")
    with github_server(state, prefix="/api/v3") as address:
        assert len(list(connect(f"{address}/").comments(7))) == 101


def test_a_comment_is_written_edited_and_removed(github: GithubRepository, state: GithubState) -> None:
    created = github.create_comment(7, "Habari 🙂")
    assert [comment["body"] for comment in state.comments] == ["Habari 🙂"]
    edited = github.edit_comment(created["id"], "Karibu")
    assert [comment["body"] for comment in state.comments] == ["Karibu"]
    assert edited["html_url"] == created["html_url"]
    github.delete_comment(created["id"])
    assert state.comments == []
    assert [method for method, _ in state.requests] == ["POST", "PATCH", "DELETE"]


@pytest.mark.parametrize("url", ["", "https://github.com/ratiba/assistant/actions/runs/1"])
def test_a_status_is_one_request(github: GithubRepository, state: GithubState, url: str) -> None:
    github.set_status(HEAD, state="success", context="ratiba / x", description="26 of 26", url=url)
    expected = {"sha": HEAD, "state": "success", "context": "ratiba / x", "description": "26 of 26"}
    assert state.statuses == [expected | ({"target_url": url} if url else {})]
    assert len(state.requests) == 1


def test_artifacts_have_their_run_and_the_newest_comes_first(github: GithubRepository, state: GithubState) -> None:
    older, newer = "2026-04-24T07:00:00Z", "2026-04-25T07:00:00Z"
    state.kept += [Artifact(1, "baseline", Run(3, BASE), created_at=older), Artifact(2, "baseline", Run(4, BASE))]
    state.kept.append(Artifact(3, "another", Run(4, BASE)))
    assert [(row["id"], row["workflow_run"]["id"], row["created_at"]) for row in github.artifacts("baseline")] == [
        (2, 4, newer),
        (1, 3, older),
    ]
    assert [row["id"] for row in github.artifacts_of_run(4, "another")] == [3]


def test_an_artifact_is_downloaded_from_elsewhere_without_the_token(
    github: GithubRepository, state: GithubState
) -> None:
    state.kept.append(Artifact(1, "baseline", Run(3, BASE), b"PK\x03\x04\xff"))
    assert github.download_artifact(1) == b"PK\x03\x04\xff"
    assert "authorization" not in state.received[-1].headers


def test_successful_runs_are_those_of_commit_branch_and_event(github: GithubRepository, state: GithubState) -> None:
    runs = [
        Run(1, BASE),
        Run(2, HEAD),
        Run(3, BASE, "schedule"),
        Run(4, BASE, branch="x"),
        Run(5, BASE, conclusion=None),
    ]
    state.kept += [Artifact(number, "baseline", run) for number, run in enumerate(runs)]
    assert [row["id"] for row in github.successful_runs(BASE, "main", "push")] == [1]


def test_a_workflow_run_says_what_started_it_and_where_its_commit_comes_from(
    github: GithubRepository, state: GithubState
) -> None:
    state.kept.append(Artifact(1, "ratiba-report", Run(3, BASE, "pull_request", head_repository="mallory/assistant")))
    run = github.workflow_run(3)
    assert (run["event"], run["head_sha"], run["head_repository"]["full_name"]) == (
        "pull_request", BASE, "mallory/assistant"
    )  # fmt: skip
    with pytest.raises(GithubError) as caught:
        github.workflow_run(4)
    assert (caught.value.status, state.violations) == (404, [])


def test_how_two_commits_stand_to_each_other(github: GithubRepository, state: GithubState) -> None:
    state.ancestors.add((BASE, HEAD))
    assert github.comparison(BASE, HEAD)["status"] == "ahead"
    assert github.comparison(HEAD, BASE)["status"] == "diverged"


def test_a_branch_is_known_with_its_tip_and_the_repository_with_its_default_one(
    github: GithubRepository, state: GithubState
) -> None:
    state.branches["release/1.x"] = BASE
    assert github.repository()["default_branch"] == "main"
    assert github.branch("release/1.x")["commit"]["sha"] == BASE
    assert [path for _, path in state.requests] == [
        "/repos/ratiba/assistant", "/repos/ratiba/assistant/branches/release/1.x"
    ]  # fmt: skip


def test_a_bad_moment_is_waited_out(github: GithubRepository, state: GithubState) -> None:
    state.faults.append(Fault(status=502, times=2))
    assert github.pull_request(7)["number"] == 7
    assert len(state.requests) == 3


@pytest.mark.parametrize("fault", [{"status": 502}, {"reset": True}])
def test_a_comment_that_may_be_there_is_not_written_again(
    github: GithubRepository, state: GithubState, fault: dict[str, Any]
) -> None:
    state.faults.append(Fault("POST", done=True, **fault))
    with pytest.raises(GithubError) as caught:
        github.create_comment(7, "once")
    assert caught.value.unclear
    assert [comment["body"] for comment in state.comments] == ["once"]


def test_a_status_that_may_be_there_is_set_again(github: GithubRepository, state: GithubState) -> None:
    state.faults.append(Fault("POST", status=502, done=True))
    github.set_status(HEAD, state="failure", context="ratiba / x", description="no", url="")
    assert [status["state"] for status in state.statuses] == ["failure", "failure"]


@pytest.mark.parametrize("status", [401, 403, 404, 422])
def test_a_refusal_carries_status_and_message(github: GithubRepository, state: GithubState, status: int) -> None:
    state.failure = (status, "Not for you")
    with pytest.raises(GithubError, match=f"{status}.*Not for you") as caught:
        github.create_comment(7, "text")
    assert (caught.value.status, len(state.requests)) == (status, 1)


def test_too_many_requests_are_reported_and_not_waited_for(github: GithubRepository, state: GithubState) -> None:
    state.failure, state.failure_headers = (403, "You have exceeded a secondary rate limit"), {"Retry-After": "600"}
    with pytest.raises(GithubError, match="too many requests") as caught:
        list(github.comments(7))
    assert "600 seconds" in caught.value.remedy


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(github: GithubRepository, state: GithubState, status: int) -> None:
    elsewhere = GithubState()
    with github_server(elsewhere) as thief:
        state.failure, state.failure_headers = (status, "Moved"), {"Location": thief}
        with pytest.raises(GithubError, match="redirect"):
            github.pull_request(7)
    assert (len(state.requests), elsewhere.requests) == (1, [])


@pytest.mark.parametrize("link", ["https://evil.example/page2", "http://127.0.0.1:1/page2", "http://127.0.0.2/page2"])
def test_a_next_page_elsewhere_is_not_asked_for(connect: Connect, link: str) -> None:
    with raw_server(answering(b"[{}]", f'Link: <{link}>; rel="next"\r\n'.encode())) as host, pytest.raises(GithubError):
        list(connect(f"http://{host}").comments(7))


ANSWERS: tuple[Any, ...] = (b"<html>", b"\xff", b"[" * 100_000, b"7", b'"text"', b"null")


@pytest.mark.parametrize("content", ANSWERS)
def test_a_list_that_is_none_is_reported(connect: Connect, content: bytes) -> None:
    with raw_server(answering(content)) as host, pytest.raises(GithubError, match="not understood"):
        list(connect(f"http://{host}").artifacts("baseline"))


def test_an_answer_that_never_ends_is_left_at_the_deadline(connect: Connect, state: GithubState, address: str) -> None:
    state.gate.clear()
    github = connect(address, deadline_seconds=0.3)
    with pytest.raises(GithubError, match="too long"):
        github.pull_request(7)
    with pytest.raises(GithubError, match="too long"):
        github.create_comment(7, "late")
    assert "POST" not in [method for method, _ in state.requests]


def test_the_token_is_in_no_error(github: GithubRepository, state: GithubState) -> None:
    state.faults.append(Fault(reset=True, times=3))
    with pytest.raises(GithubError, match="could not be reached") as caught:
        github.pull_request(7)
    assert TOKEN not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.__context__!r}"


def test_two_threads_may_ask_at_the_same_time(github: GithubRepository) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(github.pull_request(7)["number"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [7] * 4


def test_the_last_commit_of_a_path(github: GithubRepository, state: GithubState, tmp_path: Path) -> None:
    origin = GitRepository(tmp_path)
    first = origin.commit({"prompts/a b.md": "Be kind."})
    last = origin.commit({"other": "file"})
    state.clone = tmp_path
    assert [row["sha"] for row in github.last_commits("prompts/a b.md", last)] == [first]
    assert github.last_commits("absent.md", last) == []
    assert state.violations == []
