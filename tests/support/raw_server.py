"""A server of one connection whose every byte the test decides, for what no HTTP server would do."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Serve = Callable[[socket.socket, threading.Event], None]
"""Speaks on a connection; the event is set when the test is done with it."""


@contextmanager
def raw_server(serve: Serve) -> Iterator[str]:
    """Serve one connection; gives ``host:port``."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                serve(connection, done)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


def answering(content: bytes, headers: bytes = b"") -> Serve:
    """Answer one request with status 200; each header ends with a line break."""

    def serve(connection: socket.socket, _: threading.Event) -> None:
        connection.recv(65_536)
        length = b"Content-Length: %d\r\n" % len(content)
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + length + headers + b"\r\n" + content)

    return serve
