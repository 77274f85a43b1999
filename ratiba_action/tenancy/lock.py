"""The lock that says a run is alive: held by a connection, so it ends with the process that holds it."""

import hashlib
from typing import TYPE_CHECKING

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.connections import connect_as_administrator

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection

_SPACE = "ratiba-eval-gate run "


def lock_key(run: str) -> int:
    """Signed 64-bit key of a run's advisory lock, in a space of our own."""
    return int.from_bytes(hashlib.sha256(f"{_SPACE}{run}".encode()).digest()[:8], "big", signed=True)


class RunLock:
    """A session's advisory lock on a connection that does nothing else.

    Args:
        dsn: the administrator's connection string.
        run: unique to one provisioner.
    """

    def __init__(self, dsn: str, run: str) -> None:
        self._dsn = dsn
        self._run = run
        self._connection: Connection | None = None

    async def take(self) -> None:
        """Take the lock before the first tenant is made.

        Raises:
            DatabaseError: another process holds it.
        """
        self._connection = await connect_as_administrator(self._dsn)
        taken = await self._connection.execute("SELECT pg_catalog.pg_try_advisory_lock(%s)", (lock_key(self._run),))
        if await taken.fetchone() != (True,):
            raise DatabaseError(
                f"The run {self._run!r} is alive already.", "Start again: each run draws a name of its own."
            )

    async def check(self) -> None:
        """Make sure that the lock is still held: without it a neighbour's sweep would take live tenants.

        Raises:
            psycopg.Error: the connection is gone, and the lock with it.
        """
        if self._connection is not None:
            await self._connection.execute("SELECT 1")

    async def release(self) -> None:
        """Let the lock go; may be called twice."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
