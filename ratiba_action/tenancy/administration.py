"""Makes and drops a role with its schema; runs no statement that could call the repository's code."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ratiba_action.tenancy.connections import connected_elsewhere
from ratiba_action.tenancy.registry import Registration

if TYPE_CHECKING:
    from typing import LiteralString

    from ratiba_action.tenancy.connections import Connection

_ROLE = "SELECT FROM pg_catalog.pg_roles WHERE rolname = %s::text"

_END_SESSIONS = """
SELECT pg_catalog.pg_terminate_backend(pid, 5000::bigint) FROM pg_catalog.pg_stat_activity WHERE usename = %s::text"""

_ELSEWHERE = """
SELECT d.datname FROM pg_catalog.pg_database d WHERE d.datname <> pg_catalog.current_database() AND (
    EXISTS (SELECT FROM pg_catalog.pg_shdepend s JOIN pg_catalog.pg_roles r ON r.oid = s.refobjid
        WHERE s.dbid = d.oid AND s.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
            AND r.rolname = %(role)s::text)
    OR EXISTS (SELECT FROM pg_catalog.pg_prepared_xacts p WHERE p.database = d.datname AND p.owner = %(role)s::text))
ORDER BY d.datname"""

_PREPARED = """
SELECT gid FROM pg_catalog.pg_prepared_xacts
WHERE owner = %s::text AND database = pg_catalog.current_database() ORDER BY gid"""

_PARTS: tuple["LiteralString", ...] = (
    """
SELECT pg_catalog.format('SELECT pg_catalog.lo_unlink(%%s)', l.oid) FROM pg_catalog.pg_largeobject_metadata l
JOIN pg_catalog.pg_roles r ON r.oid = l.lomowner WHERE r.rolname = %s::text LIMIT 500""",
    """
SELECT pg_catalog.format('DROP %%s IF EXISTS %%s CASCADE', CASE c.relkind WHEN 'v' THEN 'VIEW'
    WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END, c.oid::pg_catalog.regclass)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles r ON r.oid = c.relowner
WHERE r.rolname = %s::text AND c.relkind IN ('r', 'p', 'v', 'm', 'f') LIMIT 100""",
    """
SELECT pg_catalog.format('DROP SEQUENCE IF EXISTS %%s CASCADE', c.oid::pg_catalog.regclass)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles r ON r.oid = c.relowner
WHERE r.rolname = %s::text AND c.relkind = 'S' LIMIT 500""",
    """
SELECT pg_catalog.format('DROP ROUTINE IF EXISTS %%s CASCADE', p.oid::pg_catalog.regprocedure)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_roles r ON r.oid = p.proowner WHERE r.rolname = %s::text LIMIT 500""",
    """
SELECT pg_catalog.format('DROP TYPE IF EXISTS %%s CASCADE', t.oid::pg_catalog.regtype)
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_roles r ON r.oid = t.typowner
LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
WHERE r.rolname = %s::text AND (t.typtype IN ('e', 'd', 'r') OR c.relkind = 'c') LIMIT 500""",
)
"""What a role may own in numbers, as statements that drop some of it."""


async def create(
    connection: "Connection", name: str, password: str, search_path: Sequence[str], note: Registration
) -> None:
    """A login role without any right but on its own schema of the same name, in one transaction."""
    from psycopg import sql  # noqa: PLC0415 - the pytest plug-in and the command line load without it

    # The server's log may hold statements: it sees the verifier, not the password.
    verifier = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
    statements = sql.SQL(
        "BEGIN; CREATE ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
        " PASSWORD {verifier}; COMMENT ON ROLE {role} IS {note}; ALTER ROLE {role} SET search_path = {path};"
        " GRANT {role} TO CURRENT_USER; CREATE SCHEMA {role} AUTHORIZATION {role}; COMMENT ON SCHEMA {role} IS {note};"
        " COMMIT"
    )
    path = sql.SQL(", ").join(sql.Identifier(part) for part in search_path)
    await connection.execute(
        statements.format(
            role=sql.Identifier(name), verifier=sql.Literal(verifier), note=sql.Literal(note.comment()), path=path
        )
    )


async def lend(connection: "Connection", template: str, name: str) -> None:
    """Let a tenant read the template while it is being filled."""
    from psycopg import sql  # noqa: PLC0415 - see above

    await connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(template), sql.Identifier(name)))


async def take_back(connection: "Connection", template: str, name: str) -> None:
    """End what ``lend`` began."""
    from psycopg import sql  # noqa: PLC0415 - see above

    await connection.execute(sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(template), sql.Identifier(name)))


async def end_sessions(connection: "Connection", name: str) -> None:
    """Refuse new sessions of a role and end those that are open, waiting until they are gone."""
    from psycopg import sql  # noqa: PLC0415 - see above

    await connection.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(sql.Identifier(name)))
    await connection.execute(_END_SESSIONS, (name,))


async def drop(connection: "Connection", name: str) -> None:
    """End a role's sessions, then drop its schema, all else that it owns on the server, and itself.

    A role that does not exist is dropped already.

    Raises:
        psycopg.Error: it could not be dropped; what is left can be dropped by another call.
    """
    import psycopg  # noqa: PLC0415 - see above
    from psycopg import sql  # noqa: PLC0415 - see above

    found = await connection.execute(_ROLE, (name,))
    if await found.fetchone() is None:
        return

    await end_sessions(connection, name)
    # PUBLIC may connect to other databases of a server, and leave objects there.
    for (database,) in await (await connection.execute(_ELSEWHERE, {"role": name})).fetchall():
        async with connected_elsewhere(connection, database) as other:
            await _roll_back_prepared(other, name)
            await _drop_owned(other, name)
    await _roll_back_prepared(connection, name)
    everything = sql.SQL(
        "BEGIN; DROP SCHEMA IF EXISTS {role} CASCADE; DROP OWNED BY {role} CASCADE; DROP ROLE {role}; COMMIT"
    ).format(role=sql.Identifier(name))
    try:
        await connection.execute(everything)
    except psycopg.errors.OutOfMemory:
        await connection.rollback()
        await _drop_owned(connection, name)
        await connection.execute(everything)


async def _drop_owned(connection: "Connection", name: str) -> None:
    """Drop what a role owns in this database; in parts, each of which the server has locks enough for."""
    from psycopg import sql  # noqa: PLC0415 - see above

    for query in _PARTS:
        before: list[tuple[Any, ...]] = []
        # What a batch could not drop, it would be given again.
        while (parts := await (await connection.execute(query, (name,))).fetchall()) not in ([], before):
            # The names come qualified and quoted from the catalogue itself.
            await connection.execute("; ".join(text for (text,) in parts).encode())
            before = parts
    await connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(sql.Identifier(name)))


async def _roll_back_prepared(connection: "Connection", name: str) -> None:
    """End a role's prepared transactions in this database: they hold locks without any session."""
    from psycopg import sql  # noqa: PLC0415 - see above

    for (transaction,) in await (await connection.execute(_PREPARED, (name,))).fetchall():
        await connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(name)))
        try:
            await connection.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(transaction)))
        finally:
            await connection.execute("RESET ROLE")
