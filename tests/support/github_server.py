"""A stand-in for GitHub's REST API: the endpoints that the gate uses, held against GitHub's own description."""

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.github_answers import Answer, answer, kept_file
from tests.support.github_description import GithubDescription
from tests.support.github_state import Fault, GithubState, Pull, Received

_EVENT_SECONDS = 60.0

__all__ = ["Fault", "GithubState", "Pull", "Received", "github_server"]


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
    server = _Server((bind, port), state, prefix)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{prefix}"
    finally:
        state.gate.set()
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
    if state.violations:
        raise AssertionError("GitHub does not describe this:\n" + "\n".join(state.violations))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, place: tuple[str, int], state: GithubState, prefix: str) -> None:
        self.state, self.prefix = state, prefix
        self.description = GithubDescription()
        super().__init__(place, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Keep quiet; the state lists the requests."""

    def do_GET(self) -> None:
        """Serve a request of any method."""
        state = self.server.state
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.removeprefix(self.server.prefix)
        request = Received(self.command, path, headers, _decoded(content))
        state.received.append(request)
        state.gate.wait()
        while request.method != "GET" and state.pending:
            self._answer(state.pending.pop())
        fault = state.next_fault(request)
        if fault is None:
            self._send(self._answer(request))
        else:
            self._fail(fault, request)

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815 - the names that the base class looks for

    def _answer(self, request: Received) -> Answer:
        server = self.server
        address = f"http://{self.headers['Host']}{server.prefix}"
        return kept_file(server.state, request) or answer(server.state, server.description, address, request)

    def _fail(self, fault: Fault, request: Received) -> None:
        given = Answer(fault.status, {"message": fault.message}, fault.headers)
        if fault.done or not (fault.status or fault.reset):
            own = self._answer(request)
            given = given if fault.status else own
        self.server.state.pending.extend([request] if fault.late else [])
        self.server.state.closing.wait(fault.seconds)
        if fault.until is not None:
            fault.until.wait(_EVENT_SECONDS)
        if not fault.reset:
            self._send(given, cut=fault.cut)
            return
        # What a program sees whose connection a proxy drops.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _send(self, given: Answer, *, cut: bool = False) -> None:
        raw = isinstance(given.content, bytes)
        text = given.content if raw else json.dumps(given.content).encode()
        kind = "application/zip" if raw else "application/json"
        try:
            self.send_response(given.status)
            for name, value in (*given.headers.items(), ("Content-Type", kind)):
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text[: len(text) // 2] if cut else text)
            self.close_connection |= cut
        except ConnectionError:
            self.close_connection = True


def _decoded(content: bytes) -> Any:
    """A body; one that is not JSON is given as bytes, which no operation takes."""
    try:
        return json.loads(content) if content else None
    except ValueError:
        return content
