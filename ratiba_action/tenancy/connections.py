"""Connections to PostgreSQL: a few kept for the administrator, one at a time for a tenant; DSNs and errors."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, urlencode

from ratiba_action.errors import ConfigurationError, DatabaseError, QueryError
from ratiba_action.util.dsn import passwords_in
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    from ratiba_action.tenancy.scram import ScramKeys

    Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]


CONNECT_TIMEOUT_SECONDS = 10
_LAST_PORT = 65_535
_TAKES_KEYS = 180000
"""The version of libpq that is given the keys of SCRAM instead of working them out, which takes 2 ms of CPU time."""
_KEPT = ("hostaddr", "sslmode", "sslrootcert", "sslnegotiation", "channel_binding", "gssencmode")


def parameters(dsn: str) -> dict[str, str]:
    """The parts of a connection string in either of PostgreSQL's spellings.

    Raises:
        ConfigurationError: it cannot be parsed; its text is not repeated because it may hold a password.
    """
    import psycopg  # the pytest plug-in and the command line load without it
    from psycopg.conninfo import conninfo_to_dict

    try:
        parsed = conninfo_to_dict(dsn)
    except psycopg.Error:
        raise _unreadable("") from None
    parts = {key: str(value) for key, value in parsed.items() if value is not None}
    if not all(_is_port(port) for port in parts.get("port", "").split(",")):
        raise _unreadable(": its port is not a number from 1 to 65535")
    return parts


def _is_port(text: str) -> bool:
    """Whether libpq takes it; an empty one is the default."""
    return not text or (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= _LAST_PORT)  # noqa: PLR2004 - as long as the last one


def _unreadable(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"The database URL cannot be read as a PostgreSQL connection string{why}.",
        "Write it as postgresql://user:password@host:port/database.",
    )


def address(dsn: str) -> str:
    """``host:port/database`` of a connection string, for messages; never its password or user."""
    parts = parameters(dsn)
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    return f"{host}:{parts.get('port', '5432')}/{parts.get('dbname', parts.get('user', ''))}"


def without_password(text: str, dsn: str) -> str:
    """A server's or a driver's message with the password of ``dsn`` blotted out."""
    for password in passwords_in(dsn):
        text = text.replace(password, "***")
    return text


def for_role(dsn: str, role: str, password: str, search_path: Sequence[str]) -> str:
    """The URL by which ``role`` reaches the same database as ``dsn``, its search path set."""
    parts = parameters(dsn)
    path = ",".join('"' + schema.replace('"', '""') + '"' for schema in search_path)
    # The server splits options at spaces, and takes a backslash for what follows it.
    escaped = path.replace("\\", "\\\\").replace(" ", "\\ ")
    options = f"-c search_path={escaped}"
    query = {"options": options, "connect_timeout": str(CONNECT_TIMEOUT_SECONDS)}
    query |= {key: parts[key] for key in _KEPT if key in parts}
    query["host"] = parts.get("host", "localhost")
    query["port"] = parts.get("port", "5432")
    database = quote(parts.get("dbname", parts.get("user", "postgres")), safe="")
    login = f"{quote(role, safe='')}:{quote(password, safe='')}"
    return f"postgresql://{login}@/{database}?{urlencode(query, quote_via=quote)}"


_READ, _SHOWN = 20_000, 2_000
"""Characters of an error: a function of a tenant can raise whatever it wants."""


@contextmanager
def database_errors(what: str, dsn: str, remedy: str = "") -> Iterator[None]:
    """Turn the driver's errors into ``DatabaseError``.

    Args:
        what: what is being done, as the end of "could not …".
        dsn: connection string in use; its password never reaches the message.

    Raises:
        DatabaseError: the driver or the network failed; ``QueryError`` where the server refused a statement.
    """
    import psycopg  # the pytest plug-in and the command line load without it

    try:
        yield
    except (psycopg.Error, OSError, TimeoutError) as error:
        words = printable(" ".join(without_password(str(error)[:_READ], dsn).split()))[:_SHOWN]
        words = words or ("it took too long" if isinstance(error, TimeoutError) else type(error).__name__)
        problem = f"The PostgreSQL server at {address(dsn)!r} could not {what}: {words.rstrip('.?')}."
        if isinstance(error, psycopg.DatabaseError) and not isinstance(error, psycopg.OperationalError):
            raise QueryError(problem, remedy, words.partition(" LINE ")[0]) from None
        raise DatabaseError(problem, remedy) from None


STATEMENT_SECONDS = 30.0
_LOCK_SECONDS = 10.0
_ADMINISTRATOR: Mapping[str, str] = {
    # A tenant may be allowed to create in `public`: no name of the administrator's is looked up there. A connection's
    # own options outrank what is set for a role or a database. `pg_temp` is named, or it would come first.
    "search_path": "pg_catalog,pg_temp",
    "default_transaction_read_only": "off",
    "client_min_messages": "error",
}
_MAX_CONNECTIONS = 4
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

    Raises:
        psycopg.Error: the server cannot be reached or refuses.
        TimeoutError: it was silent.
    """
    return await _connect(dsn, {**_session(STATEMENT_SECONDS), **_ADMINISTRATOR})


async def _connect(dsn: str, settings: Mapping[str, int | str], keys: "ScramKeys | None" = None) -> "Connection":
    import psycopg  # the pytest plug-in and the command line load without it

    limits = " ".join(f"-c {name}={value}" for name, value in settings.items())
    options = f"{parameters(dsn).get('options', '')} {limits}".strip()
    connect = functools.partial(psycopg.AsyncConnection.connect, dsn, autocommit=True, options=options, **_KEEPALIVE)
    async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
        if keys is not None and psycopg.pq.version() >= _TAKES_KEYS:
            with contextlib.suppress(psycopg.OperationalError):  # a role may give itself its password with another salt
                return await connect(scram_client_key=keys.client, scram_server_key=keys.server)
        return await connect()


@asynccontextmanager
async def connected_as_tenant(
    dsn: str, seconds: float, statement_seconds: float = STATEMENT_SECONDS, keys: "ScramKeys | None" = None
) -> AsyncIterator["Connection"]:
    """An autocommit connection whose statements, and waits for locks, have limits; closed on every way out.

    Args:
        dsn: of a tenant or a template.
        seconds: after which the whole block is given up: a function of the tenant's own can catch the server's
            cancelling of its statement, and change the limits of those that follow.
        statement_seconds: that one statement may take.
        keys: of the password in ``dsn``; None to work them out.

    Raises:
        psycopg.Error: the server cannot be reached or refuses.
        TimeoutError: the time is over.
    """
    async with asyncio.timeout(seconds):
        connection = await _connect(dsn, _session(statement_seconds), keys)
        try:
            yield connection
        finally:
            await connection.close()


@asynccontextmanager
async def connected_elsewhere(connection: "Connection", database: str) -> AsyncIterator["Connection"]:
    """The administrator's connection to another database of the same server, closed on every way out."""
    from psycopg.conninfo import make_conninfo

    info = connection.info
    other = await connect_as_administrator(make_conninfo(info.dsn, password=info.password or None, dbname=database))
    try:
        yield other
    finally:
        await other.close()


class Connections:
    """A few connections of the administrator, made when needed and used again."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(_MAX_CONNECTIONS)

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
