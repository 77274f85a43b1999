"""Connections: few for the administrator, kept; one at a time for a tenant."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from ratiba_action.tenancy.dsn import CONNECT_TIMEOUT_SECONDS, parameters

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]

STATEMENT_SECONDS = 30.0
_LOCK_SECONDS = 10.0
_ADMINISTRATOR: Mapping[str, str] = {
    # A tenant may be allowed to create in `public`: no name of the administrator's is looked up there. A connection's
    # own options outrank what is set for a role or a database. `pg_temp` is named, or it would come first.
    "search_path": "pg_catalog,pg_temp",
    "default_transaction_read_only": "off",
    "client_min_messages": "error",
}
_MOST_CONNECTIONS = 4
# A server that vanished without a word is noticed after about half a minute.
_KEEPALIVE: Mapping[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30000,
}


def _session(statement_seconds: float) -> dict[str, int | str]:
    return {
        "statement_timeout": int(statement_seconds * 1000),
        "lock_timeout": int(_LOCK_SECONDS * 1000),
        # The connection that holds the run's lock is idle for most of the run.
        "idle_session_timeout": 0,
        # The lock of a machine that vanished must not outlive it for hours.
        "tcp_keepalives_idle": 30,
        "tcp_keepalives_interval": 10,
        "tcp_keepalives_count": 3,
    }


async def connect_as_administrator(dsn: str) -> "Connection":
    """An autocommit connection on which every name means PostgreSQL's own function, operator or type.

    Args:
        dsn: the administrator's connection string.

    Raises:
        psycopg.Error: the server cannot be reached or refuses.
        TimeoutError: it was silent.
    """
    return await _connect(dsn, {**_session(STATEMENT_SECONDS), **_ADMINISTRATOR})


async def _connect(dsn: str, settings: Mapping[str, int | str]) -> "Connection":
    import psycopg  # noqa: PLC0415 - the pytest plug-in and the command line load without it

    limits = " ".join(f"-c {name}={value}" for name, value in settings.items())
    options = f"{parameters(dsn).get('options', '')} {limits}".strip()
    async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
        return await psycopg.AsyncConnection.connect(dsn, autocommit=True, options=options, **_KEEPALIVE)


@asynccontextmanager
async def connected_as_tenant(
    dsn: str, seconds: float, statement_seconds: float = STATEMENT_SECONDS
) -> AsyncIterator["Connection"]:
    """An autocommit connection whose statements, and waits for locks, have limits; closed on every way out.

    Args:
        dsn: of a tenant or a template.
        seconds: after which the whole block is given up: a function of the tenant's own can catch the server's
            cancelling of its statement, and change the limits of those that follow.
        statement_seconds: that one statement may take.

    Raises:
        psycopg.Error: the server cannot be reached or refuses.
        TimeoutError: the time is over.
    """
    async with asyncio.timeout(seconds):
        connection = await _connect(dsn, _session(statement_seconds))
        try:
            yield connection
        finally:
            await connection.close()


@asynccontextmanager
async def connected_elsewhere(connection: "Connection", database: str) -> AsyncIterator["Connection"]:
    """The administrator's connection to another database of the same server, closed on every way out."""
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415 - see above

    info = connection.info
    other = await connect_as_administrator(make_conninfo(info.dsn, password=info.password or None, dbname=database))
    try:
        yield other
    finally:
        await other.close()


class Connections:
    """A few connections of the administrator, made when needed and used again.

    Args:
        dsn: the administrator's connection string.
    """

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(_MOST_CONNECTIONS)

    @asynccontextmanager
    async def one(self) -> AsyncIterator["Connection"]:
        """A connection for a moment; one that an error broke is not used again."""
        async with self._free:
            connection = self._idle.pop() if self._idle else await connect_as_administrator(self.dsn)
            try:
                yield connection
            except BaseException:
                await connection.close()
                raise
            self._idle.append(connection)

    async def close(self) -> None:
        """Close what is idle; may be called twice."""
        while self._idle:
            await self._idle.pop().close()
