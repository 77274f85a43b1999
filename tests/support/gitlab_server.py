"""A stand-in for GitLab's REST API: the notes of merge requests, as its documentation describes them.

A project is named by its number or its whole path, URL-encoded; a path of several segments is not found.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_NOTES = re.compile(r"/api/v4/projects/([^/]+)/merge_requests/(\d+)(?:/notes(?:/(\d+))?)?")


@dataclass
class GitlabState:
    """What the server knows and records.

    Args:
        project: the only one.
        heads: of the merge requests, by number.
        user: id of the token's user.
        faults: statuses of the next requests that write; 0 writes and drops the connection.
        failure: answered to everything.
    """

    project: str = "shops/spa/assistant"
    heads: dict[int, str] = field(default_factory=dict)
    token: str = "glpat-planted"
    user: int = 42
    notes: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    failure: tuple[int, str] | None = None

    def add_note(self, body: str, user: int) -> dict[str, Any]:
        """A note that is there already."""
        note = {"id": 1000 + len(self.notes), "body": body, "author": {"id": user, "username": f"user-{user}"}}
        self.notes.append(note)
        return note

    @property
    def written(self) -> list[str]:
        """Methods of the requests that write."""
        return [method for method, _ in self.requests if method != "GET"]


@contextmanager
def gitlab_server(state: GitlabState) -> Iterator[str]:
    """Serve a state; gives the base address of the API."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v4"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(state: GitlabState) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Keep quiet."""

        def do_GET(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            state.requests.append((self.command, self.path))
            fault = state.faults.pop(0) if state.faults and self.command != "GET" else None
            if state.failure is not None:
                status, answer = state.failure[0], {"message": state.failure[1]}
            elif self.headers.get("PRIVATE-TOKEN") != state.token:
                status, answer = 401, {"message": "401 Unauthorized"}
            elif fault:
                status, answer = fault, {"message": "busy"}
            else:
                status, answer = _answer(state, self.command, self.path, content)
            if fault == 0:
                self.close_connection = True
                return
            body = b"" if status == 204 else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the names that the base class looks for

    return Handler


def _answer(state: GitlabState, method: str, target: str, content: bytes) -> tuple[int, Any]:
    parts = urlsplit(target)
    if parts.path == "/api/v4/user":
        return 200, {"id": state.user, "username": "project_7_bot"}
    found = _NOTES.fullmatch(parts.path)
    if found is None or unquote(found[1]) != state.project or int(found[2]) not in state.heads:
        return 404, {"message": "404 Not found"}
    if found[3] is not None:
        return _note(state, method, int(found[3]), content)
    if not parts.path.endswith("notes"):
        return 200, {"iid": int(found[2]), "sha": state.heads[int(found[2])]}
    if method == "POST":
        return 201, state.add_note(json.loads(content)["body"], state.user)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    size, page = min(int(query.get("per_page", "20")), 100), int(query.get("page", "1"))
    ordered = state.notes if query.get("sort") == "asc" else state.notes[::-1]
    return 200, ordered[(page - 1) * size : page * size]


def _note(state: GitlabState, method: str, number: int, content: bytes) -> tuple[int, Any]:
    note = next((note for note in state.notes if note["id"] == number), None)
    if note is None or note["author"]["id"] != state.user:
        return 404 if note is None else 403, {"message": "no"}
    if method == "DELETE":
        state.notes.remove(note)
        return 204, None
    note["body"] = json.loads(content)["body"]
    return 200, note
