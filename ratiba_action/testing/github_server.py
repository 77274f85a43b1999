"""A stand-in for GitHub's REST API on the loopback interface: the endpoints that the gate uses."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_LONGEST_BODY = 65_536
_ROUTES = {
    ("GET", r"/user"): "user",
    ("GET", r"/repos/([^/]+/[^/]+)/pulls/(\d+)"): "pull",
    ("GET", r"/repos/([^/]+/[^/]+)/issues/(\d+)/comments"): "list_comments",
    ("POST", r"/repos/([^/]+/[^/]+)/issues/(\d+)/comments"): "create_comment",
    ("PATCH", r"/repos/([^/]+/[^/]+)/issues/comments/(\d+)"): "update_comment",
    ("POST", r"/repos/([^/]+/[^/]+)/statuses/(\w+)"): "create_status",
}


@dataclass
class GithubState:
    """What the server knows and what it was asked; shared with the test.

    Args:
        login: whom the token belongs to.
        heads: commit that each pull request points at.
        failure: status and message to answer every request with, None to serve it.
        failing_methods: the methods that ``failure`` holds for.
        gate: requests wait until it is set; a slow server is one whose gate stays shut.
    """

    login: str = "github-actions[bot]"
    heads: dict[int, str] = field(default_factory=dict)
    comments: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    failure: tuple[int, str] | None = None
    failing_methods: frozenset[str] = frozenset({"GET", "POST", "PATCH"})
    gate: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def add_comment(self, body: str, login: str, number: int = 7) -> dict[str, Any]:
        """Put a comment on a pull request."""
        comment = {"id": 1_000 + len(self.comments), "body": body, "user": {"login": login, "id": 1}, "number": number}
        self.comments.append(comment)
        return comment


@contextmanager
def github_server(state: GithubState) -> Iterator[str]:
    """Serve a state; gives the base address of the API."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        state.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(state: GithubState) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            """Keep quiet; the state lists the requests."""

        def do_GET(self) -> None:
            self._serve("GET")

        def do_POST(self) -> None:
            self._serve("POST")

        def do_PATCH(self) -> None:
            self._serve("PATCH")

        def _serve(self, method: str) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            state.requests.append((method, self.path))
            state.gate.wait()
            base = f"http://{self.headers['Host']}"
            status, headers, answer = _answer(state, method, base, self.path, json.loads(content or b"{}"))
            text = json.dumps(answer).encode()
            try:
                self.send_response(status)
                for name, value in (*headers.items(), ("Content-Type", "application/json")):
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
            except ConnectionError:
                self.close_connection = True

    return Handler


_Answer = tuple[int, Mapping[str, str], Any]


def _answer(state: GithubState, method: str, base: str, path: str, sent: Mapping[str, Any]) -> _Answer:
    if state.failure is not None and method in state.failing_methods:
        return state.failure[0], {}, {"message": state.failure[1]}
    parts = urlsplit(path)
    for (route_method, pattern), name in _ROUTES.items():
        found = re.fullmatch(pattern, parts.path)
        if found and route_method == method:
            page = {key: int(values[0]) for key, values in parse_qs(parts.query).items() if values[0].isdigit()}
            return _SERVICES[name](state, base, found.groups(), page, sent)
    return 404, {}, {"message": "Not Found"}


def _user(state: GithubState, *_: Any) -> _Answer:
    if state.login.endswith("[bot]"):
        return 403, {}, {"message": "Resource not accessible by integration"}
    return 200, {}, {"login": state.login, "id": 1}


def _pull(state: GithubState, base: str, route: tuple[str, ...], *_: Any) -> _Answer:
    repository, number = route
    if int(number) not in state.heads:
        return 404, {}, {"message": "Not Found"}
    address = f"{base}/repos/{repository}"
    return (
        200,
        {},
        {
            "url": f"{address}/pulls/{number}",
            "issue_url": f"{address}/issues/{number}",
            "number": int(number),
            "head": {"sha": state.heads[int(number)], "ref": "change"},
        },
    )


def _list_comments(
    state: GithubState, base: str, route: tuple[str, ...], page: Mapping[str, int], _: object
) -> _Answer:
    repository, number = route
    found = [comment for comment in state.comments if comment["number"] == int(number)]
    current, size = page.get("page", 1), min(page.get("per_page", 30), 100)
    shown = found[(current - 1) * size : current * size]
    address = f"{base}/repos/{repository}/issues/{number}/comments?per_page={size}&page="
    last = max(-(-len(found) // size), 1)
    links = {"Link": f'<{address}{current + 1}>; rel="next", <{address}{last}>; rel="last"'} if current < last else {}
    return 200, links, [_comment(comment, base, repository) for comment in shown]


def _create_comment(
    state: GithubState, base: str, route: tuple[str, ...], _: object, sent: Mapping[str, Any]
) -> _Answer:
    if len(sent.get("body", "")) > _LONGEST_BODY or not sent.get("body"):
        return 422, {}, {"message": "Validation Failed"}
    return 201, {}, _comment(state.add_comment(sent["body"], state.login, int(route[1])), base, route[0])


def _update_comment(
    state: GithubState, base: str, route: tuple[str, ...], _: object, sent: Mapping[str, Any]
) -> _Answer:
    if len(sent.get("body", "")) > _LONGEST_BODY:
        return 422, {}, {"message": "Validation Failed"}
    for comment in state.comments:
        if comment["id"] == int(route[1]):
            comment["body"] = sent["body"]
            return 200, {}, _comment(comment, base, route[0])
    return 404, {}, {"message": "Not Found"}


def _create_status(
    state: GithubState, base: str, route: tuple[str, ...], _: object, sent: Mapping[str, Any]
) -> _Answer:
    state.statuses.append({"sha": route[1], **sent})
    return 201, {}, {"id": len(state.statuses), "url": f"{base}/repos/{route[0]}/statuses/{route[1]}", **sent}


def _comment(comment: Mapping[str, Any], base: str, repository: str) -> dict[str, Any]:
    address = f"{base}/repos/{repository}/issues/comments/{comment['id']}"
    page = f"https://github.com/{repository}/pull/{comment['number']}#issuecomment-{comment['id']}"
    return {**comment, "url": address, "html_url": page}


_SERVICES = {
    "user": _user,
    "pull": _pull,
    "list_comments": _list_comments,
    "create_comment": _create_comment,
    "update_comment": _update_comment,
    "create_status": _create_status,
}
