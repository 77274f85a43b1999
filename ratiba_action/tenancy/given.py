"""A PostgreSQL server that runs already, such as a job's service container."""

import asyncio
import time

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.connections import CONNECT_TIMEOUT_SECONDS, address, parameters, without_password
from ratiba_action.util.dsn import is_refused

_PAUSE_SECONDS = 0.1
_REFUSED_SECONDS = 2.0
"""Of a server that somebody else has started, which may be about to listen."""
# A server that is starting refuses (no SQLSTATE) or says cannot_connect_now; anything else waits in vain.
_STARTING = "57P03"


class GivenServer:
    """A server that somebody else started and will end.

    Args:
        dsn: connection string of a role that may create roles and schemas.
        start_timeout: seconds that it may take to answer; service containers start beside the job.
    """

    own = False

    def __init__(self, dsn: str, start_timeout: float) -> None:
        parameters(dsn)
        self._dsn = dsn
        self._start_timeout = start_timeout

    @property
    def dsn(self) -> str:
        """Connection string of an administrator; holds a password."""
        return self._dsn

    async def start(self) -> None:
        """Wait until the server answers.

        Raises:
            DatabaseError: it refuses the connection string, or does not answer by the deadline.
        """
        await wait_until_ready(self._dsn, self._start_timeout, _REFUSED_SECONDS)

    async def stop(self) -> None:
        """Leave the server running; it is not ours."""


async def wait_until_ready(dsn: str, seconds: float, refused_seconds: float | None = None) -> None:
    """Connect again and again until the server answers.

    Args:
        seconds: for a server that is silent or starting.
        refused_seconds: for an address where nobody listens; None for as long.

    Raises:
        DatabaseError: it answered that it will not have us (at once), or did not answer in time.
    """
    import psycopg  # the pytest plug-in and the command line load without it

    began = time.monotonic()
    deadline = began + seconds
    while True:
        left = deadline - time.monotonic()
        try:
            # The driver's own limit counts whole seconds and none below two.
            async with asyncio.timeout(min(max(left, 1.0), CONNECT_TIMEOUT_SECONDS)):
                connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
            await connection.close()
        except TimeoutError:
            reason = "it did not answer in time"
        except psycopg.Error as error:
            reason = " ".join(without_password(str(error), dsn).split())
            if "FATAL:" in reason and is_refused(reason) and getattr(error, "sqlstate", None) != _STARTING:
                raise _unusable(dsn, reason) from None
            if refused_seconds is not None and is_refused(reason) and time.monotonic() >= began + refused_seconds:
                raise _unusable(dsn, f"{reason} (tried for {refused_seconds:g} s)") from None
        else:
            return
        if time.monotonic() + _PAUSE_SECONDS >= deadline:
            raise _unusable(dsn, f"{reason} (waited {seconds:g} s)") from None
        await asyncio.sleep(_PAUSE_SECONDS)


def _unusable(dsn: str, reason: str) -> DatabaseError:
    return DatabaseError(
        f"The PostgreSQL server at {address(dsn)!r} cannot be used: {reason}.",
        "Check host, port, database, user and password of RATIBA_DATABASE_URL, and that the server is running.",
    )
