"""A PostgreSQL server in a Docker container, by testcontainers."""

import asyncio
import contextlib
import importlib
import socket
from typing import Any
from urllib.parse import urlsplit

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.given import wait_until_ready

IMAGE = "postgres:17"
_TCP_PORT = 2375
_TIMEOUT_SECONDS = 5.0


def docker_is_there() -> bool:
    """Whether the ``docker`` extra is installed and its daemon accepts connections."""
    try:
        import testcontainers  # noqa: F401, PLC0415 - an optional extra; its presence is the question

        docker = importlib.import_module("docker")
    except ImportError:
        return False
    # Docker's own client leaves its socket open when it is refused, so it is not asked.
    url = urlsplit(docker.utils.kwargs_from_env().get("base_url", docker.constants.DEFAULT_UNIX_SOCKET))
    try:
        if url.hostname:
            socket.create_connection((url.hostname, url.port or _TCP_PORT), _TIMEOUT_SECONDS).close()
        else:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(_TIMEOUT_SECONDS)
                probe.connect(url.path)
    except OSError:
        return False
    return True


class ContainerServer:
    """A throw-away server in a container.

    Args:
        ready_seconds: how long the server may take to answer once its container runs.
    """

    own = True

    def __init__(self, ready_seconds: float) -> None:
        self._ready_seconds = ready_seconds
        self._container: Any = None
        self._dsn = ""

    @property
    def dsn(self) -> str:
        """Connection string of an administrator; holds a password."""
        return self._dsn

    async def start(self) -> None:
        """Pull the image if need be, run it, wait until the server answers.

        Raises:
            DatabaseError: Docker refused, or the server does not answer.
        """
        try:
            await asyncio.to_thread(self._run)
        except Exception as error:  # Docker, its client and testcontainers share no base class
            raise DatabaseError(
                f"The container {IMAGE!r} could not be started: {error}.", "Check Docker, or give a --database-url."
            ) from error
        await wait_until_ready(self._dsn, self._ready_seconds)

    def _run(self) -> None:
        from testcontainers.community.postgres import PostgresContainer  # noqa: PLC0415 - an optional extra

        self._container = PostgresContainer(IMAGE, driver=None).with_command(
            "postgres -c fsync=off -c full_page_writes=off -c synchronous_commit=off"
        )
        self._container.start()
        self._dsn = self._container.get_connection_url()

    async def stop(self) -> None:
        """Remove the container; may be called twice."""
        container, self._container = self._container, None
        if container is not None:
            with contextlib.suppress(Exception):
                await asyncio.to_thread(container.stop)
