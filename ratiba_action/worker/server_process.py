"""A server that the gate starts: on a free port, known to be the one that answers there, ended with its children."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

from . import listeners
from .http_call import AnswerError, call
from .program_output import error_first

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACE = "{port}"
PORTS = range(20_000, 32_000)
"""Below those that Linux gives to connections: no client takes one between the choice and the server's start."""
_ATTEMPTS = 4
_KEPT_BYTES, _SHOWN = 8000, 1200
_POLL_SECONDS = 0.02
_ANSWER_SECONDS = 5.0
_PATIENCE = 2.0
_END_SECONDS = 0.3


class ServerError(Exception):
    """The server did not get ready, ended, or is not what answers on its port."""


class PortTakenError(ServerError):
    """Another process listens on the port that was free when it was chosen."""


class Server:
    """A running server; made by ``start_server``.

    Args:
        options: ``command``, ``environment``, ``ready`` (a path or None) and ``seconds``.
        address: of the system, with ``{port}``.
        port: that it is to listen on.
    """

    def __init__(self, options: Mapping[str, Any], address: str, port: int) -> None:
        self._options, self.port, self.address = options, port, address.replace(PLACE, str(port))
        self._argv = [word.replace(PLACE, str(port)) for word in options["command"]]
        given = {name: value.replace(PLACE, str(port)) for name, value in options["environment"].items()}
        self._kept = bytearray()
        self._known: frozenset[str] = frozenset()
        try:
            self._process = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **given, "PORT": str(port)},
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            raise ServerError(f"the server {self._argv!r} cannot be started: {problem}") from None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Read what it prints, so that it never waits for a reader, and keep the end."""
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        while piece := os.read(self._process.stdout.fileno(), 65_536):
            self._kept += piece
            del self._kept[:-_KEPT_BYTES]

    def await_ready(self) -> None:
        """Wait until it listens, and answers the path ``ready`` if there is one.

        Raises:
            ServerError: it ended, was not ready in time, or another process listens on its port.
        """
        deadline = time.monotonic() + self._options["seconds"]
        while (problem := self._not_ready()) is not None:
            if time.monotonic() >= deadline:
                seconds = self._options["seconds"]
                raise ServerError(f"the server {self._argv!r} {problem} within {seconds:g} s{self.printed()}")
            time.sleep(_POLL_SECONDS)
        self.require()

    def _not_ready(self) -> str | None:
        if not self._listens():
            self._require_running("before it was ready")
            elsewhere = sorted(listeners.ports_of(_keeper()) or ())
            hint = f" (it listens on {', '.join(map(str, elsewhere))}: let it read PORT)" if elsewhere else ""
            return f"did not listen on port {self.port}{hint}"
        ready = self._options["ready"]
        if ready is None:
            return None
        try:
            call("GET", urllib.parse.urljoin(self.address, ready), {}, None, seconds=_ANSWER_SECONDS)
        except AnswerError as problem:
            self._require_running("before it was ready")
            return f"was not ready: {problem},"
        return None

    def _listens(self) -> bool:
        """Whether it listens on its port."""
        found = listeners.on_port(self.port)
        if found is None:  # no /proc: the port was free before the start, which is all that can be known
            with contextlib.suppress(OSError), socket.create_connection(("localhost", self.port), _ANSWER_SECONDS):
                return True
            return False
        if found - self._known and not found <= listeners.held_by(_keeper()):
            if (code := self._process.poll()) is not None:
                raise PortTakenError(f"{self._how(code)} while another process listens on port {self.port}")
            raise PortTakenError(f"another process than the server {self._argv!r} listens on port {self.port} too")
        self._known = found
        return bool(found)

    def require(self, *, failed: bool = False) -> None:
        """Make sure that it runs, and that nothing else answers on its port.

        Args:
            failed: it has just failed to answer, so it may be about to end.

        Raises:
            ServerError: otherwise.
        """
        listens = self._listens()
        if failed or not listens:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        self._require_running("in the middle of a conversation")
        if not listens:
            raise ServerError(f"the server {self._argv!r} no longer listens on port {self.port}{self.printed()}")

    def _require_running(self, when: str) -> None:
        code = self._process.poll()
        if code is not None:
            raise ServerError(f"{self._how(code)} {when}{self.printed()}")

    def _how(self, code: int) -> str:
        if code >= 0:
            return f"the server {self._argv!r} ended with exit code {code}"
        name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"  # a real-time one
        memory = " (the kernel sends SIGKILL when memory runs out)" if -code == signal.SIGKILL else ""
        return f"the server {self._argv!r} was ended by {name}{memory}"

    def printed(self) -> str:
        """What it printed last, as the end of a message."""
        if self._process.poll() is not None:
            self._reader.join(_PATIENCE)
        text = bytes(self._kept).decode("utf-8", "replace")
        if len(self._kept) == _KEPT_BYTES:  # half a word may be half a key
            text = " ".join(text.split(" ")[1:])
        here = os.getcwd()  # noqa: PTH109 - pathlib costs start-up time
        text = error_first(text.replace(f"file://{here}/", "").replace(f"{here}/", ""), _SHOWN)
        return f". It printed last: {text}" if text else ". It printed nothing"

    def end(self) -> None:
        """Ask it and its group to end; what does not, or has left the group, is killed with the conversation."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE)
                return


def start_server(options: Mapping[str, Any], address: str) -> Server:
    """Start a server and wait until it is ready; for the arguments see ``Server``.

    Raises:
        ServerError: it cannot be started, ended, or was not ready in time.
    """
    for attempt in range(_ATTEMPTS):
        server = Server(options, address, free_port())
        try:
            server.await_ready()
        except PortTakenError:
            server.end()
            if attempt + 1 == _ATTEMPTS:
                raise
        except BaseException:
            server.end()
            raise
        else:
            return server
    raise AssertionError(_ATTEMPTS)


def free_port() -> int:
    """A port that nothing listens on."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("0.0.0.0", port))  # noqa: S104 - looked at, and nothing listens
            return port


def _keeper() -> int:
    """Whose descendants are the conversation's processes: its supervisor adopts orphans."""
    return os.getppid()
