"""A way to a server that can be closed while it is used."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ClosingProxy:
    """Forwards connections on loopback to a server, until it is closed.

    Args:
        server: path of its Unix socket, or its host and port.
    """

    def __init__(self, server: str | tuple[str, int]) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._lock = threading.Lock()
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End every connection, and refuse each further one."""
        with self._lock:
            ends, self._ends = [self._listener, *self._ends], []
        for end in ends:
            _end(end)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX if isinstance(self._server, str) else socket.AF_INET)
                far.connect(self._server)
                with self._lock:
                    self._ends += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=_forward, args=pair, daemon=True).start()


def _forward(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while content := source.recv(65_536):
            target.sendall(content)
    for end in (source, target):
        _end(end)


def _end(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def closing_proxy(server: str | tuple[str, int]) -> Iterator[ClosingProxy]:
    """A proxy that is closed at the end, too."""
    proxy = ClosingProxy(server)
    try:
        yield proxy
    finally:
        proxy.close()
