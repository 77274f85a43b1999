"""A server on loopback that keeps what is posted to it and answers what the test says: a collector, or a webhook."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; status 0 stands for none at all until the test is over."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Posted:
    """A request; names of headers in small letters."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Receiver:
    """What the server does, and what it was sent.

    Args:
        upcoming: answers of the next requests, in this order.
        usual: the answer of every further one.
        posted: every request.
    """

    upcoming: list[Reply] = field(default_factory=list)
    usual: Reply = field(default_factory=Reply)
    posted: list[Posted] = field(default_factory=list)
    address: str = ""
    closing: threading.Event = field(default_factory=threading.Event)


@contextmanager
def receiver(*upcoming: Reply, usual: Reply | None = None) -> Iterator[Receiver]:
    """Serve on a free port; the address has no path."""
    state = Receiver(list(upcoming), usual or Reply())
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    server.daemon_threads = True
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(state: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Keep quiet."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            state.posted.append(Posted(self.path, {name.lower(): text for name, text in self.headers.items()}, body))
            reply = state.upcoming.pop(0) if state.upcoming else state.usual
            if not reply.status:
                state.closing.wait()
                return
            self.send_response(reply.status)
            for name, text in ({"Content-Type": "application/json"} | dict(reply.headers)).items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

    return Handler
