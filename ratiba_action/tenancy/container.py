"""A PostgreSQL server in a Docker container, by testcontainers."""

import asyncio
import contextlib
import importlib
from typing import Any

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.given import wait_until_ready

IMAGE = "postgres:18-alpine"


def docker_client() -> Any | None:
    """A client of the Docker daemon, or None where the ``docker`` extra or the daemon is absent."""
    try:
        import testcontainers  # noqa: F401, PLC0415 - an optional extra; its presence is the question

        docker = importlib.import_module("docker")
    except ImportError:
        return None
    try:
        client = docker.from_env(timeout=5)
        client.ping()
    except docker.errors.DockerException:
        return None
    return client


class ContainerServer:
    """A throw-away server in a container.

    Args:
        ready_seconds: how long the server may take to answer once its container runs.
    """

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
