"""Makes and drops a role with its schema; runs no statement that could call the repository's code."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratiba_action.tenancy.registry import Registration

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection


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
    await connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = %s", (name,))


async def drop(connection: "Connection", name: str) -> None:
    """End a role's sessions, then drop its schema, all else that it owns in this database, and itself.

    A role that does not exist is dropped already.
    """
    from psycopg import sql  # noqa: PLC0415 - see above

    found = await connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (name,))
    if await found.fetchone() is None:
        return

    await end_sessions(connection, name)
    await connection.execute(
        sql.SQL(
            "BEGIN; DROP SCHEMA IF EXISTS {role} CASCADE; DROP OWNED BY {role} CASCADE; DROP ROLE {role}; COMMIT"
        ).format(role=sql.Identifier(name))
    )
