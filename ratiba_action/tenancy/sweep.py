"""Drops what crashed runs left on a server, and nothing else."""

from typing import TYPE_CHECKING

from ratiba_action.tenancy.administration import drop
from ratiba_action.tenancy.lock import lock_key
from ratiba_action.tenancy.names import TEMPLATE_PREFIX, TENANT_PREFIX
from ratiba_action.tenancy.registry import parse

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection

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
    import psycopg  # noqa: PLC0415 - the pytest plug-in and the command line load without it

    try:
        await drop(connection, name)
    except psycopg.Error as error:
        if not connection.closed:
            await connection.rollback()
        return f"The tenant {name!r} could not be dropped: {' '.join(str(error).split())}. The next run tries again."
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
