"""A stand-in for GitHub's REST API: the endpoints that the gate uses, held against GitHub's own description."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ratiba_action.testing.github_answers import Answer, answer, kept_file
from ratiba_action.testing.github_description import GithubDescription
from ratiba_action.testing.github_state import GithubState, Pull, Received

__all__ = ["GithubState", "Pull", "Received", "github_server"]


@contextmanager
def github_server(state: GithubState, *, bind: str = "127.0.0.1", port: int = 0, prefix: str = "") -> Iterator[str]:
    """Serve a state; gives the base address of the API.

    Args:
        state: what the server knows and records.
        bind: ``0.0.0.0`` lets containers reach it.
        port: 0 for a free one.
        prefix: path of the API, such as ``/api/v3`` on an enterprise server.

    Raises:
        AssertionError: on leaving, when GitHub does not describe what was asked or answered.
    """
    description = GithubDescription()
    server = ThreadingHTTPServer((bind, port), _handler(state, description, prefix))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{prefix}"
    finally:
        state.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()
    if state.violations:
        raise AssertionError("GitHub does not describe this:\n" + "\n".join(state.violations))


def _handler(state: GithubState, description: GithubDescription, prefix: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            """Keep quiet; the state lists the requests."""

        def do_GET(self) -> None:
            self._serve(self.command)

        do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815 - the names that the base class looks for

        def _serve(self, method: str) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Received(method, self.path.removeprefix(prefix), headers, _decoded(content))
            state.received.append(request)
            state.gate.wait()
            kept = kept_file(state, request)
            given = kept or answer(state, description, f"http://{self.headers['Host']}{prefix}", request)
            self._send(given)

        def _send(self, given: Answer) -> None:
            raw = isinstance(given.content, bytes)
            text = given.content if raw else json.dumps(given.content).encode()
            kind = "application/zip" if raw else "application/json"
            try:
                self.send_response(given.status)
                for name, value in (*given.headers.items(), ("Content-Type", kind)):
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
            except ConnectionError:
                self.close_connection = True

    return Handler


def _decoded(content: bytes) -> Any:
    """A body; one that is not JSON is given as bytes, which no operation takes."""
    try:
        return json.loads(content) if content else None
    except ValueError:
        return content
