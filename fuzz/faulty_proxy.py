"""A server before the stand-in for GitHub that passes requests on, or fails as GitHub and networks do."""

import http.client
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

TRANSIENT = ("502", "503", "504", "503 retry-after", "429 secondary", "403 secondary", "reset", "reset after")
"""What GitHub does now and then; the next attempt is answered well."""

LASTING = (
    "500", "403", "404", "401", "422", "html", "empty", "truncated", "malformed", "huge", "slow", "redirect", "null",
    "object", "301", "deep", "418 hostile", "drip",
)  # fmt: skip
_HANG = 0.5


class Faults:
    """Which request fails, and how.

    Args:
        rng: of the case.
        plan: faults of the first requests, in order; None passes one on.
        rest: of all later ones.
        hostile: text that a hostile server puts into its answers.
    """

    def __init__(self, plan: list[str | None], rest: str | None, hostile: str) -> None:
        self._plan = list(plan)
        self._rest = rest
        self._lock = threading.Lock()
        self.hostile = hostile
        self.elsewhere: list[str] = []

    def next(self) -> str | None:
        """The fault of the next request."""
        with self._lock:
            return self._plan.pop(0) if self._plan else self._rest


def random_faults(rng: random.Random, nonce: str) -> tuple[Faults, bool]:
    """Faults, and whether all of them are of those that a second attempt gets over."""
    hostile = f"::error::{nonce}\r\n##[set-output name=x;]{nonce}"
    if rng.random() < 0.4:
        plan: list[str | None] = [rng.choice((None, None, None, *TRANSIENT)) for _ in range(rng.randint(1, 4))]
        while sum(fault is not None for fault in plan) > 2:
            plan.remove(next(fault for fault in plan if fault is not None))
        return Faults(plan, None, hostile), True
    plan = [rng.choice((None, *TRANSIENT, *LASTING)) for _ in range(rng.randint(0, 4))]
    return Faults(plan, rng.choice((None, *TRANSIENT, *LASTING)), hostile), False


@contextmanager
def faulty_proxy(target: str, faults: Faults, *, bind: str = "127.0.0.1") -> Iterator[str]:
    """Serve on a free port; gives the base address."""
    server = _Proxy(bind, urlsplit(target).netloc, faults)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Proxy(ThreadingHTTPServer):
    """Knows where it passes requests on to, and how it fails."""

    daemon_threads = True

    def __init__(self, bind: str, target: str, faults: Faults) -> None:
        super().__init__((bind, 0), _Handler)
        self.target = target
        self.faults = faults


class _Handler(BaseHTTPRequestHandler):
    server: _Proxy
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Keep quiet."""

    def do_GET(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/elsewhere"):
            self.server.faults.elsewhere.append(str(self.headers))
        fault = self.server.faults.next()
        try:
            if fault is None:
                self._answer(*self._ask(content))
            else:
                self._fail(fault, content)
        except (OSError, http.client.HTTPException):
            self.close_connection = True

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815 - the names that the base class looks for

    def _ask(self, content: bytes) -> tuple[int, bytes, list[tuple[str, str]]]:
        connection = http.client.HTTPConnection(self.server.target, timeout=30)
        connection.request(self.command, self.path, content or None, dict(self.headers.items()))
        found = connection.getresponse()
        kept = [(name, value) for name, value in found.getheaders() if name in {"Link", "Content-Type", "Location"}]
        try:
            return found.status, found.read(), kept
        finally:
            connection.close()

    def _answer(self, status: int, content: bytes, headers: list[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _fail(self, fault: str, content: bytes) -> None:
        if fault.startswith("reset"):
            if fault == "reset after":
                self._ask(content)
            self._reset()
        elif fault in {"slow", "drip"}:
            self._slowly(self._ask(content), drip=fault == "drip")
        elif fault == "redirect":
            self._answer(302, b"", [("Location", f"http://{self.headers['Host']}/elsewhere")])
        elif fault == "truncated":
            status, found, _ = self._ask(content)
            self.send_response(status)
            self.send_header("Content-Length", str(len(found) + 10))
            self.end_headers()
            self.wfile.write(found[: len(found) // 2])
            self.close_connection = True
        else:
            self._answer(*self._canned(fault))

    def _canned(self, fault: str) -> tuple[int, bytes, list[tuple[str, str]]]:
        bodies = {
            "html": b"<html>", "empty": b"", "malformed": b'{"x": ', "huge": b"[" + b" " * (33 << 20) + b"]",
            "null": b"null", "object": b'{"comments": [null, {"user": 1}], "id": "x"}',
                "deep": b"[" * 100_000,
        }  # fmt: skip
        if fault in bodies:
            return 200, bodies[fault], [("Content-Type", "application/json")]
        body = f'{{"message": "x {self.server.faults.hostile}"}}'.replace("\r\n", "\\r\\n").encode()
        headers = [("Retry-After", "1")] if "secondary" in fault or "retry-after" in fault else []
        return int(fault.split(maxsplit=1)[0]), body, headers

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _slowly(self, found: tuple[int, bytes, list[tuple[str, str]]], *, drip: bool) -> None:
        status, content, headers = found
        if not drip:
            time.sleep(_HANG)
            self._answer(status, content, headers)
            return
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        for start in range(0, len(content), max(len(content) // 20, 1)):
            self.wfile.write(content[start : start + max(len(content) // 20, 1)])
            time.sleep(_HANG / 20)
