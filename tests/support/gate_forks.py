"""Runs command lines of the gate, each in a process of its own that starts with everything loaded.

A gate that judges takes four seconds of processor time to start, nearly all of it to load DeepEval. A fork takes none
of them, and is in all else the process that a user starts: its own environment, folder, output and exit code.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

_PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True)
class GateForks:
    """Where the fork server listens.

    Args:
        folder: of its socket; outputs are kept there while a gate runs.
    """

    folder: Path

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float = 120
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command line to its end.

        Args:
            arguments: without the program's name.
            folder: current folder of the process.
            environment: all of its variables.
            timeout: seconds, after which it is killed.

        Raises:
            subprocess.TimeoutExpired: it did not end.
        """
        with TemporaryDirectory(dir=self.folder) as place, socket.socket(socket.AF_UNIX) as connection:
            files = {name: Path(place) / name for name in ("stdout", "stderr")}
            request = {"arguments": [*arguments], "folder": str(folder), "environment": {**environment}}
            request |= {name: str(path) for name, path in files.items()}
            connection.settimeout(timeout)
            connection.connect(str(self.folder / "socket"))
            connection.sendall(json.dumps(request).encode() + b"\n")
            answers = connection.makefile()
            process = int(answers.readline())
            try:
                code = int(answers.readline())
            except TimeoutError as error:
                os.kill(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired([*arguments], timeout) from error
            printed = {name: path.read_text(errors="replace") for name, path in files.items()}
        return subprocess.CompletedProcess([*arguments], code, printed["stdout"], printed["stderr"])


@contextmanager
def gate_forks() -> Iterator[GateForks]:
    """Start a fork server, and end it."""
    with TemporaryDirectory(prefix="ratiba-forks-") as name:
        command = [sys.executable, "-m", "tests.support.gate_fork_server", str(Path(name) / "socket")]
        environment = {**os.environ, "TMPDIR": name}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=_PROJECT, text=True) as server:
            try:
                if server.stdout is None or server.stdout.readline() != "ready\n":
                    raise RuntimeError(f"{command[2]!r} did not start")
                yield GateForks(Path(name))
            finally:
                server.kill()
