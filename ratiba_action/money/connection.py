"""The one connection to the shared ledger, made again after it was lost."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ratiba_action.errors import LedgerError, LedgerRefusedError, LedgerRightsError
from ratiba_action.util.dsn import is_refused, passwords_in

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]

_CONNECT_SECONDS = 10
_STATEMENT_SECONDS = 15
_SESSION: Mapping[str, str] = {
    # Each statement reads what others have just committed; under a stricter level it would fail instead of wait.
    "default_transaction_isolation": r"read\ committed",
    "default_transaction_read_only": "off",
    "synchronous_commit": "on",
    "statement_timeout": str(_STATEMENT_SECONDS * 1000),
    "lock_timeout": str(_STATEMENT_SECONDS * 1000),
    "idle_session_timeout": "0",
    "search_path": "pg_catalog",
}
_KEEPALIVE: Mapping[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30000,
}


class LedgerConnection:
    """One autocommit connection; statements wait for each other.

    Args:
        dsn: connection string; its password is in no message.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()

    async def fetch(self, query: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of one statement.

        Raises:
            LedgerError: the server cannot be reached, refused, or went away; whether the statement took effect is
                then unknown.
        """
        async with self._turn:
            return await self._attempt(query, values)

    async def fetch_surely(self, query: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """``fetch`` for a statement that may run twice: it is repeated once over a new connection, if that may help.

        Raises:
            LedgerError: as ``fetch``.
        """
        async with self._turn:
            try:
                return await self._attempt(query, values)
            except (LedgerRightsError, LedgerRefusedError):
                raise
            except LedgerError:
                return await self._attempt(query, values)

    async def close(self) -> None:
        """End the connection; may be called twice."""
        async with self._turn:
            await self._drop()

    async def _attempt(self, query: str, values: Mapping[str, Any] | None) -> list[tuple[Any, ...]]:
        import psycopg  # a run without a shared ledger does without it

        connects = self._connection is None
        try:
            async with asyncio.timeout(_CONNECT_SECONDS + _STATEMENT_SECONDS):
                if self._connection is None:
                    self._connection = await self._connect()
                cursor = await self._connection.execute(query.encode(), values)
                return await cursor.fetchall() if cursor.description else []
        except (psycopg.Error, TimeoutError, OSError, UnicodeError) as error:
            await self._drop()
            cause, remedy = self._without_passwords(error), "Check RATIBA_LEDGER_URL and its server."
            problem = f"The shared ledger cannot be used: {cause}."
            if connects and is_refused(cause):
                raise LedgerRefusedError(problem, remedy) from None
            if isinstance(error, psycopg.errors.InsufficientPrivilege):
                raise LedgerRightsError(problem, remedy, cause) from None
            raise LedgerError(problem, remedy) from None
        except BaseException:
            await self._drop()
            raise

    async def _connect(self) -> "Connection":
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        try:
            given = conninfo_to_dict(self._dsn).get("options") or ""
        except psycopg.ProgrammingError:  # its text repeats parts of the string, which may hold a password
            raise LedgerError(
                "The shared ledger's URL cannot be read as a PostgreSQL connection string.",
                "Write RATIBA_LEDGER_URL as postgresql://user:password@host:port/database.",
            ) from None
        options = f"{given} {' '.join(f'-c {name}={value}' for name, value in _SESSION.items())}".strip()
        async with asyncio.timeout(_CONNECT_SECONDS):
            return await psycopg.AsyncConnection.connect(
                self._dsn, autocommit=True, prepare_threshold=None, options=options, **_KEEPALIVE
            )

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _without_passwords(self, error: Exception) -> str:
        text = " ".join(str(error).split()) or f"it did not answer within {_CONNECT_SECONDS} s"
        for password in passwords_in(self._dsn):
            text = text.replace(password, "***")
        return text.rstrip(".?")
