"""A stand-in for a Langfuse server on loopback, held against the models of Langfuse's own client.

It needs the extra ``langfuse``. Its bodies are validated with ``langfuse.api``, its spans decoded with the classes of
``opentelemetry.proto``; what neither describes fails the test that left it behind.
"""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.langfuse_routes import answer
from tests.support.langfuse_state import Answer, LangfuseState, Mode, Received, TakenSpan, refused

__all__ = ["LangfuseState", "Mode", "TakenSpan", "langfuse_server"]


@contextmanager
def langfuse_server(state: LangfuseState) -> Iterator[str]:
    """Serve a state; gives the base address, as ``langfuse-host`` takes it.

    Raises:
        AssertionError: on leaving, when Langfuse's client does not describe what was asked or answered.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
    if state.violations:
        raise AssertionError("Langfuse does not describe this:\n" + "\n".join(state.violations))


def _handler(state: LangfuseState) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            """Keep quiet; the state lists the requests."""

        def do_GET(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            given = _given(state, Received(self.command, self.path, headers, content))
            if given is None:
                self.close_connection = True
            else:
                self._send(given)

        do_POST = do_DELETE = do_GET  # noqa: N815 - the names that the base class looks for

        def _send(self, given: Answer) -> None:
            content = given.content if isinstance(given.content, bytes) else json.dumps(given.content).encode()
            try:
                self.send_response(given.status)
                for name, value in (*given.headers.items(), ("Content-Type", "application/json")):
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except ConnectionError:
                self.close_connection = True

    return Handler


def _given(state: LangfuseState, request: Received) -> Answer | None:
    """What is answered; None to drop the connection."""
    with state.lock:
        state.received.append(request)
        mode = state.upcoming.pop(0) if state.upcoming else state.mode
    if mode is Mode.BLACK_HOLE:
        state.closing.wait()
        return None
    if mode is Mode.FAILING:
        return refused(500, "Internal Server Error")
    if mode is Mode.BUSY:
        return Answer(429, {"message": "rate limited"}, {"Retry-After": str(state.retry_after)})
    if state.instead is not None:
        return Answer(200, state.instead)
    pair = base64.b64encode(f"{state.public_key}:{state.secret_key}".encode()).decode()
    if request.headers.get("authorization") != f"Basic {pair}":
        return refused(401, "Invalid credentials. Confirm that you've configured the correct host.")
    with state.lock:
        try:
            given = answer(state, request)
        except (ValueError, KeyError, TypeError) as error:
            state.violations.append(f"{request.method} {request.path}: {type(error).__name__}: {error}")
            given = refused(400, str(error))
    return None if mode is Mode.ANSWER_LOST and request.method == "POST" else given
