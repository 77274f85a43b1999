"""Drops what crashed runs left on a server, and nothing else."""

import hashlib
import re
import secrets
from typing import TYPE_CHECKING

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.administration import drop, parse
from ratiba_action.tenancy.connections import connect_as_administrator

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection


TENANT_PREFIX = "test_tenant_"
TEMPLATE_PREFIX = "ratiba_template_"
MAXIMUM_BYTES = 63
_SUFFIX_BYTES = 4
_FOREIGN = re.compile(r"[^a-z0-9_]+")


def tenant_name(scenario_id: str) -> str:
    """A fresh name ``test_tenant_<scenario>_<8 random hex>`` for a schema and its role.

    Runs of characters outside ``a-z0-9_`` become one underscore, so that one character is one byte; the scenario's
    part is then cut until the whole fits. Only the suffix makes a name unique.
    """
    suffix = secrets.token_hex(_SUFFIX_BYTES)
    available = MAXIMUM_BYTES - len(TENANT_PREFIX) - len(suffix) - 1
    scenario = _FOREIGN.sub("_", scenario_id.lower())[:available]
    return f"{TENANT_PREFIX}{scenario}_{suffix}"


def template_name() -> str:
    """A fresh name for a template: long enough to stand nowhere in a schema by chance."""
    return f"{TEMPLATE_PREFIX}{secrets.token_hex(16)}"


_SPACE = "ratiba-eval-gate run "


def lock_key(run: str) -> int:
    """Signed 64-bit key of a run's advisory lock, in a space of our own."""
    return int.from_bytes(hashlib.sha256(f"{_SPACE}{run}".encode()).digest()[:8], "big", signed=True)


class RunLock:
    """A session's advisory lock on a connection that does nothing else.

    Args:
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


_ROLES = """
SELECT r.rolname, pg_catalog.shobj_description(r.oid, 'pg_authid'), pg_catalog.current_database(),
    ARRAY(SELECT datname FROM pg_catalog.pg_database)
FROM pg_catalog.pg_roles r
WHERE pg_catalog.starts_with(r.rolname::text, %s::text) OR pg_catalog.starts_with(r.rolname::text, %s::text)
ORDER BY r.rolname"""

_STRANGERS = """
SELECT n.nspname FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_roles r ON r.rolname = n.nspname
WHERE pg_catalog.starts_with(n.nspname::text, %s::text) AND r.oid IS NULL ORDER BY n.nspname"""


async def sweep(connection: "Connection") -> tuple[str, ...]:
    """Drop tenants and templates of runs that hold their lock no longer.

    Returns:
        A warning for each that could not be dropped, and for schemas that are named like tenants but not registered:
        those may be somebody's own and stay.
    """
    warnings = []
    for run, names in (await _leftovers(connection)).items():
        if await _ask(connection, "SELECT pg_catalog.pg_try_advisory_lock(%s)", run):
            try:
                warnings += [warning for name in names if (warning := await drop_quietly(connection, name))]
            finally:
                await _ask(connection, "SELECT pg_catalog.pg_advisory_unlock(%s)", run)
    strangers = await (await connection.execute(_STRANGERS, (TENANT_PREFIX,))).fetchall()
    warnings += [
        f"The schema {name!r} is named like a tenant but the gate did not make it, so it stays."
        f' If nobody needs it, run: DROP SCHEMA "{name}" CASCADE;'
        for (name,) in strangers
    ]
    return tuple(warnings)


async def drop_quietly(connection: "Connection", name: str) -> str | None:
    """Drop a tenant; a failure is returned as a warning, and the next run's sweep tries again."""
    import psycopg  # the pytest plug-in and the command line load without it

    try:
        await drop(connection, name)
    except psycopg.Error as error:
        if not connection.closed:
            await connection.rollback()
        words = " ".join(str(error).split()).rstrip(".?")
        return f"The tenant {name!r} could not be dropped: {words}. The next run tries again."
    return None


async def _leftovers(connection: "Connection") -> dict[str, list[str]]:
    """Names of registered roles by the run that made them; those of other databases are left to their own runs."""
    found: dict[str, list[str]] = {}
    for name, comment, here, databases in await (
        await connection.execute(_ROLES, (TENANT_PREFIX, TEMPLATE_PREFIX))
    ).fetchall():
        note = parse(comment)
        if note is not None and (note.database == here or note.database not in databases):
            found.setdefault(note.run, []).append(name)
    return found


async def _ask(connection: "Connection", question: str, run: str) -> bool:
    answer = await (await connection.execute(question.encode(), (lock_key(run),))).fetchone()
    return answer == (True,)
