"""Runs command lines of the gate, each in a process of its own that starts with everything loaded.

A gate that judges takes four seconds of processor time to start, nearly all of it to load DeepEval. A fork takes none
of them, and is in all else the process that a user starts: its own environment, folder, output and exit code.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.eventually import eventually

_PROJECT = Path(__file__).parents[2]


class StartedGate:
    """A command line that runs in a process of its own.

    Args:
        arguments: of the command line.
        connection: to the fork server, which answers on it.
        place: folder with what it prints.
    """

    def __init__(self, arguments: Sequence[str], connection: socket.socket, place: "TemporaryDirectory[str]") -> None:
        self._arguments, self._connection, self._place = [*arguments], connection, place
        self._answers = connection.makefile()
        self.pid = int(self._answers.readline())

    def kill(self) -> None:
        """Kill it with SIGKILL, together with the processes of its group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended: SIGTERM as a runner does that cancels it, or SIGINT for Ctrl-C."""
        if self.is_running():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return not select.select([self._connection], [], [], 0)[0]

    def printed(self, name: str = "stdout") -> str:
        """What it has printed so far to standard output, or to ``stderr``."""
        printed = Path(self._place.name) / name
        return printed.read_text(errors="replace") if printed.exists() else ""

    def wait(self, timeout: float = 120) -> "subprocess.CompletedProcess[str]":
        """Wait once for its end; the code of one that was killed is negative.

        Args:
            timeout: seconds, after which it is killed.

        Raises:
            subprocess.TimeoutExpired: it did not end.
        """
        with self._place as place, self._connection, self._answers:
            self._connection.settimeout(timeout)
            try:
                code = int(self._answers.readline())
            except TimeoutError as error:
                self.kill()
                raise subprocess.TimeoutExpired(self._arguments, timeout) from error
            printed = {name: (Path(place) / name).read_text(errors="replace") for name in ("stdout", "stderr")}
        return subprocess.CompletedProcess(self._arguments, code, printed["stdout"], printed["stderr"])


@dataclass(frozen=True)
class GateForks:
    """Where the fork server listens.

    Args:
        folder: of its socket; outputs are kept there while a gate runs.
    """

    folder: Path

    def start(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> StartedGate:
        """Start a command line and leave it running.

        Args:
            arguments: without the program's name.
            folder: current folder of the process.
            environment: all of its variables.
        """
        return self._start({"arguments": [*arguments], "folder": str(folder), "environment": {**environment}})

    @contextmanager
    def keeping(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float = 120
    ) -> "Iterator[GateForks]":
        """Gates that share the fork servers of their system, as the runs of ``ratiba gate --watch`` do.

        The arguments are those of ``start``; the gates have the same folder, environment and report directory.

        Args:
            seconds: that it may take to start them.

        Raises:
            AssertionError: they could not be started in time.
        """
        with TemporaryDirectory(dir=self.folder) as name:
            request = {"arguments": [*arguments], "folder": str(folder), "environment": {**environment}}
            keeper = self._start(request | {"keep": str(Path(name) / "socket")})
            try:
                eventually(lambda: "ready" in keeper.printed(), seconds)
                yield GateForks(Path(name))
            finally:
                keeper.kill()
                keeper.wait()

    def _start(self, request: dict[str, Any]) -> StartedGate:
        place = TemporaryDirectory(dir=self.folder)
        request |= {name: str(Path(place.name) / name) for name in ("stdout", "stderr")}
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.folder / "socket"))
        connection.sendall(json.dumps(request).encode() + b"\n")
        return StartedGate(request["arguments"], connection, place)

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float = 120
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command line to its end; the arguments are those of ``start`` and ``StartedGate.wait``."""
        return self.start(arguments, folder, environment).wait(timeout)


@contextmanager
def gate_forks(module: str = "tests.support.gate_fork_server") -> Iterator[GateForks]:
    """Start a fork server, and end it.

    Args:
        module: that serves.
    """
    with TemporaryDirectory(prefix="ratiba-forks-") as name:
        command = [sys.executable, "-m", module, str(Path(name) / "socket")]
        environment = {**os.environ, "TMPDIR": name}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=_PROJECT, text=True) as server:
            try:
                if server.stdout is None or server.stdout.readline() != "ready\n":
                    raise RuntimeError(f"{command[2]!r} did not start")
                yield GateForks(Path(name))
            finally:
                server.kill()
