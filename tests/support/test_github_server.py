"""The stand-in for GitHub: what it answers, and that GitHub's own description holds for both sides."""

import json
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.github_description import Call, GithubDescription
from tests.support.github_server import GithubState, Pull, github_server

HERE = "/repos/ratiba/assistant"
HEADERS = {"Authorization": "Bearer token", "User-Agent": "test", "X-GitHub-Api-Version": "2022-11-28"}


def ask(
    base: str, method: str, path: str, body: Any = None, headers: Mapping[str, str] = HEADERS
) -> tuple[int, Any, str]:
    """Status, decoded answer and Link header."""
    address = urlsplit(base)
    connection = HTTPConnection(address.netloc)
    try:
        content = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, address.path + path, content, dict(headers))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), answer.getheader("Link", "")
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("GET", "/user", None, "does not know this operation"),
        ("DELETE", f"{HERE}/git/refs/heads/main", None, "does not know this operation"),
        ("PUT", f"{HERE}/pulls/7/merge", {}, "does not know this operation"),
        ("GET", f"{HERE}/pulls/7?per_page=100", None, "per_page"),
        ("GET", f"{HERE}/pulls?state=merged", None, "merged"),
        ("GET", f"{HERE}/pulls?page=two", None, "two"),
        ("GET", f"{HERE}/pulls?page=1&page=2", None, "twice"),
        ("GET", f"{HERE}/issues/7/comments?sort=created", None, "sort"),
        ("POST", f"{HERE}/issues/7/comments", None, "body"),
        ("POST", f"{HERE}/issues/7/comments", {}, "body"),
        ("POST", f"{HERE}/issues/7/comments", {"body": 7}, "body"),
        ("POST", f"{HERE}/issues/7/comments", {"body": "x", "pin": True}, "'pin' is not described"),
        ("POST", f"{HERE}/issues/7/comments", b"{", "not a JSON object"),
        ("POST", f"{HERE}/issues/7/comments", ["x"], "not a JSON object"),
        ("GET", f"{HERE}/pulls/7", {"x": 1}, "data"),
        ("POST", f"{HERE}/statuses/{'a' * 40}", {"state": "failed"}, "failed"),
        ("POST", f"{HERE}/statuses/{'a' * 40}", {"context": "x"}, "state"),
    ],
)
def test_a_request_that_github_does_not_describe_fails_the_test_that_made_it(
    method: str, path: str, body: Any, message: str
) -> None:
    state = GithubState(heads={7: "a" * 40})
    with pytest.raises(AssertionError, match="GitHub does not describe this") as caught, github_server(state) as base:
        assert ask(base, method, path, body)[0] in {404, 422}
    assert message in str(caught.value)
    assert (state.comments, state.statuses) == ([], [])


@pytest.mark.parametrize("header", HEADERS)
def test_a_request_without_a_header_that_github_wants_fails_too(header: str) -> None:
    headers = {name: value for name, value in HEADERS.items() if name != header}
    with pytest.raises(AssertionError, match="GitHub does not"), github_server(GithubState()) as base:
        ask(base, "GET", f"{HERE}/pulls", headers=headers)


def test_a_request_that_is_described_fails_nothing() -> None:
    state = GithubState(heads={7: "a" * 40})
    with github_server(state) as base:
        assert ask(base, "GET", f"{HERE}/pulls/7")[1]["head"]["sha"] == "a" * 40
        assert ask(base, "GET", f"{HERE}/pulls/8")[0] == 404
        status, comment, _ = ask(base, "POST", f"{HERE}/issues/7/comments", {"body": "Habari"})
        assert (status, comment["user"]["login"]) == (201, "github-actions[bot]")
        assert ask(base, "PATCH", f"{HERE}/issues/comments/{comment['id']}", {"body": "Asante"})[1]["body"] == "Asante"
        assert ask(base, "PATCH", f"{HERE}/issues/comments/5", {"body": "x"})[0] == 404
        assert ask(base, "POST", f"{HERE}/statuses/{'a' * 40}", {"state": "success"})[0] == 201
    assert [request.body for request in state.received if request.method == "PATCH"] == [
        {"body": "Asante"},
        {"body": "x"},
    ]


@pytest.mark.parametrize("answer", [{}, {"id": 1}, [], None, "text"])
def test_an_answer_that_github_would_not_give_is_a_violation(answer: Any) -> None:
    call = Call(
        "pulls.get", "GET", f"{HERE}/pulls/7", {"owner": "ratiba", "repo": "assistant", "pull_number": "7"}, None
    )
    assert GithubDescription().violations_of_answer(call, 200, answer)


def test_a_route_that_is_not_the_operations_own_is_a_violation() -> None:
    route = {"owner": "ratiba", "repo": "assistant", "pull_number": "7"}
    (message,) = GithubDescription().violations_of_request(Call("pulls.get", "GET", f"{HERE}/pull/7", route, None))
    assert f"pulls.get is GET {HERE}/pulls/7" in message


def test_what_a_test_plants_is_not_held_against_the_description() -> None:
    state = GithubState(answers={f"{HERE}/pulls/7": ["nonsense"]})
    with github_server(state) as base:
        assert ask(base, "GET", f"{HERE}/pulls/7")[1] == ["nonsense"]


def test_pull_requests_are_found_by_the_owner_and_branch_of_their_head() -> None:
    pulls = {
        1: Pull(branch="fix", head_repository="wanjiku/assistant"),
        2: Pull(branch="fix", head_repository="wanjiku/assistant", state="closed"),
        3: Pull(branch="fix"),
    }
    with github_server(GithubState(pulls=pulls)) as base:
        for query, numbers in (
            ("head=wanjiku:fix&state=open", [1]),
            ("head=wanjiku:fix&state=all", [2, 1]),
            ("head=ratiba:fix", [3]),
            ("head=fix", [3, 1]),
        ):
            found = ask(base, "GET", f"{HERE}/pulls?{query}")[1]
            assert [pull["number"] for pull in found] == numbers


def test_files_come_in_pages_with_the_old_name_of_a_renamed_one_and_at_most_three_thousand() -> None:
    files: tuple[str | tuple[str, str], ...] = (("new.md", "old.md"), *(f"{number}.md" for number in range(3_100)))
    with github_server(GithubState(pulls={7: Pull(files=files)})) as base:
        assert ask(base, "GET", f"{HERE}/pulls/7")[1]["changed_files"] == 3_101
        _, first, link = ask(base, "GET", f"{HERE}/pulls/7/files?per_page=100")
        assert (first[0]["filename"], first[0]["previous_filename"]) == ("new.md", "old.md")
        assert f'<{base}{HERE}/pulls/7/files?per_page=100&page=2>; rel="next"' in link
        _, last, link = ask(base, "GET", f"{HERE}/pulls/7/files?per_page=100&page=30")
        assert len(last) == 100
        assert "next" not in link


def test_the_artifacts_of_a_run_are_listed() -> None:
    with github_server(GithubState(artifacts={1001: ("ratiba-report",)})) as base:
        listed = ask(base, "GET", f"{HERE}/actions/runs/1001/artifacts")[1]
        assert [artifact["name"] for artifact in listed["artifacts"]] == ["ratiba-report"]
        assert ask(base, "GET", f"{HERE}/actions/runs/5/artifacts")[0] == 404


def test_the_token_of_a_fork_reads_and_does_not_write() -> None:
    state = GithubState(heads={7: "a" * 40}, writable=False)
    with github_server(state) as base:
        assert ask(base, "GET", f"{HERE}/pulls/7")[0] == 200
        assert ask(base, "POST", f"{HERE}/issues/7/comments", {"body": "x"})[0] == 403
        assert ask(base, "POST", f"{HERE}/statuses/{'a' * 40}", {"state": "success"})[0] == 403
    assert (state.comments, state.statuses) == ([], [])


def test_it_may_be_bound_to_every_address_so_that_containers_reach_it() -> None:
    with github_server(GithubState(), bind="0.0.0.0") as base:  # noqa: S104 - what is tested
        assert ask(base, "GET", f"{HERE}/pulls")[0] == 200
