"""The one client of GitHub's API: what it sends, where the token goes, what it believes."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ratiba_action.errors import GithubError
from ratiba_action.github.github_api import GithubApi
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.raw_server import answering, raw_server

TOKEN = "ghs_planted"
HEAD = "a" * 40


@pytest.fixture
def state() -> GithubState:
    return GithubState(heads={7: HEAD})


@pytest.fixture
def address(state: GithubState) -> Iterator[str]:
    with github_server(state) as base:
        yield base


def client(address: str, **changes: Any) -> GithubApi:
    return GithubApi("ratiba/assistant", TOKEN, address, **changes)


def test_an_answer_is_decoded_and_the_request_names_token_and_version(state: GithubState, address: str) -> None:
    assert client(address).get("pulls/7")["head"]["sha"] == HEAD
    headers = state.received[0].headers
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["x-github-api-version"] == "2022-11-28"


def test_every_page_of_a_list_is_read(state: GithubState, address: str) -> None:
    for index in range(230):
        state.add_comment(f"remark {index}", "someone")
    pages = list(client(address).pages("issues/7/comments"))
    assert [len(page) for page in pages] == [100, 100, 30]
    assert pages[2][29]["body"] == "remark 229"


def test_a_query_is_escaped(state: GithubState, address: str) -> None:
    state.pulls[8] = Pull(branch="a&state=closed b", head_repository="other/assistant")
    head = "other:a&state=closed b"
    found = list(client(address).pages("pulls", {"head": head, "state": "open"}))
    assert [pull["number"] for pull in found[0]] == [8]


def test_what_is_sent_is_json(state: GithubState, address: str) -> None:
    client(address).send("POST", "issues/7/comments", {"body": "Habari 🙂"})
    assert state.received[0].body == {"body": "Habari 🙂"}


def test_an_enterprise_server_has_its_api_below_a_path(state: GithubState) -> None:
    for _ in range(101):
        state.add_comment("remark", "someone")
    with github_server(state, prefix="/api/v3") as address:
        assert address.endswith("/api/v3")
        assert sum(len(page) for page in client(f"{address}/").pages("issues/7/comments")) == 101


@pytest.mark.parametrize(
    "address",
    [
        "http://api.example",
        "http://127.0.0.1.example:80",
        "http://localhost.example",
        "http://localhost:80@evil.example",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "https://user:word@api.example",
        "https://api.example?x=",
        "https://api.example/\nHost: x",
        "",
    ],
)
def test_the_token_goes_over_https_or_to_this_machine(address: str) -> None:
    with pytest.raises(GithubError, match="GITHUB_API_URL") as caught:
        client(address)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("address", ["https://ghes.example/api/v3", "http://[::1]:80", "http://localhost:80/"])
def test_addresses_that_may_have_the_token(address: str) -> None:
    assert client(address).address == address


@pytest.mark.parametrize("repository", ["assistant", "a/b/c", "../x", "a/..", "./b", "a/b?x", "a/b\n", ""])
def test_a_repository_that_is_none_is_refused(repository: str) -> None:
    with pytest.raises(GithubError, match=r"owner/name"):
        GithubApi(repository, TOKEN)


@pytest.mark.parametrize("token", ["", "a b", "a\nX-Other: b", "tökén"])
def test_a_token_that_is_none_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(GithubError, match="github-token") as caught:
        GithubApi("a/b", token)
    assert not token or token not in str(caught.value)


def test_neither_token_nor_environment_is_shown() -> None:
    shown = repr(GithubApi("a/b", TOKEN, environment={"HTTPS_PROXY": "http://u:planted@proxy.example"}))
    assert "planted" not in shown


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(state: GithubState, address: str, status: int) -> None:
    elsewhere = GithubState()
    with github_server(elsewhere) as thief:
        state.failure, state.failure_headers = (status, "Moved"), {"Location": thief}
        with pytest.raises(GithubError, match="redirect") as caught:
            client(address).get("pulls/7")
    assert caught.value.status == status
    assert (len(state.requests), elsewhere.requests) == (1, [])


@pytest.mark.parametrize(
    "link",
    [
        "<https://evil.example/page2>",
        "<//evil.example/page2>",
        "</page2>",
        "<http://127.0.0.1:1/page2>",
        "<http://{host}@evil.example/page2>",
        "<http://{host}.evil.example/page2>",
    ],
)
def test_a_next_page_on_another_host_is_refused(link: str) -> None:
    hosts: list[str] = []

    def serve(connection: socket.socket, done: threading.Event) -> None:
        named = link.format(host=hosts[0]) if "{host}" in link else link
        answering(b"[]", f'Link: {named}; rel="next"\r\n'.encode())(connection, done)

    with raw_server(serve) as host:
        hosts.append(host)
        with pytest.raises(GithubError, match="next page"):
            list(client(f"http://{host}").pages("pulls"))


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize(
    ("headers", "message"), [({"Retry-After": "60"}, "in 60 seconds"), ({"X-RateLimit-Remaining": "0"}, "later")]
)
def test_too_many_requests_are_reported_and_not_waited_for(
    state: GithubState, address: str, status: int, headers: dict[str, str], message: str
) -> None:
    state.failure, state.failure_headers = (status, "You have exceeded a secondary rate limit"), headers
    with pytest.raises(GithubError, match="too many requests") as caught:
        client(address).get("pulls/7")
    assert message in caught.value.remedy
    assert len(state.requests) == 1


def test_a_refusal_carries_status_and_message(state: GithubState, address: str) -> None:
    state.failure = (422, "Validation Failed")
    with pytest.raises(GithubError, match=r"422.*Validation Failed") as caught:
        client(address).get("pulls/7")
    assert caught.value.status == 422


@pytest.mark.parametrize("content", [b"<html>", b"", b"\xff", b"[" * 100_000])
def test_an_answer_that_is_not_json_is_reported(content: bytes) -> None:
    with raw_server(answering(content)) as host, pytest.raises(GithubError, match="not JSON"):
        client(f"http://{host}").get("pulls/7")
