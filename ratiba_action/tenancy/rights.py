"""The rights that the gate needs on a server, asked before anything runs."""

from typing import TYPE_CHECKING

from ratiba_action.errors import DatabaseError
from ratiba_action.model.note import Note
from ratiba_action.tenancy.dsn import address

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection

_OLDEST = 140000

_QUESTION = """
SELECT pg_catalog.current_setting('server_version_num')::int, pg_catalog.pg_is_in_recovery(),
    pg_catalog.quote_ident(current_user::text), pg_catalog.quote_ident(pg_catalog.current_database()::text),
    r.rolsuper, r.rolcreaterole, pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user"""

_OPEN = """
SELECT pg_catalog.quote_ident(pg_catalog.current_database()::text),
    pg_catalog.has_database_privilege('public', pg_catalog.current_database(), 'CREATE'),
    ARRAY(SELECT pg_catalog.quote_ident(n.nspname::text) FROM pg_catalog.pg_namespace n
        WHERE pg_catalog.has_schema_privilege('public', n.oid, 'CREATE') ORDER BY n.nspname),
    ARRAY(SELECT pg_catalog.quote_ident(d.datname::text) FROM pg_catalog.pg_database d
        WHERE d.datallowconn AND d.datname <> pg_catalog.current_database()
            AND pg_catalog.has_database_privilege('public', d.oid, 'CONNECT') ORDER BY d.datname)"""
"""What PUBLIC, and so every tenant, may do beside its own schema."""


async def check_rights(connection: "Connection", dsn: str) -> None:
    """Refuse a server that would fail later.

    Raises:
        DatabaseError: names every missing right, with the statement that grants it.
    """
    row = await (await connection.execute(_QUESTION)).fetchone()
    version, standby, user, database, superuser, create_role, create_schema = row or (
        0,
        False,
        "",
        "",
        False,
        False,
        False,
    )
    problems: list[tuple[str, str]] = []
    if version < _OLDEST:
        problems.append((f"it runs version {version}, older than {_OLDEST}", "Use PostgreSQL 14 or newer."))
    if standby:
        problems.append(("it is a read-only standby", "Give the URL of the primary."))
    if not superuser and not create_role:
        problems.append((f"{user} lacks CREATEROLE", f"Run: ALTER ROLE {user} CREATEROLE;"))
    if not superuser and not create_schema:
        problems.append(
            (f"{user} lacks CREATE on the database", f"Run: GRANT CREATE ON DATABASE {database} TO {user};")
        )
    if problems:
        raise DatabaseError(
            f"Tenants cannot be made on {address(dsn)!r}: {'; '.join(problem for problem, _ in problems)}.",
            " ".join(remedy for _, remedy in problems),
        )


async def close_to_public(connection: "Connection") -> None:
    """In a server of the run's own: nobody but the administrator makes anything outside the tenants' schemas."""
    database, _, schemas, others = await _open_to_public(connection)
    statements = [
        f"REVOKE CREATE ON DATABASE {database} FROM PUBLIC",
        *(f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC" for schema in schemas),
        *(f"REVOKE CONNECT ON DATABASE {other} FROM PUBLIC" for other in others),
    ]
    # The names come quoted from the catalogue itself.
    await connection.execute("; ".join(statements).encode())


async def warnings_of_public(connection: "Connection", dsn: str) -> tuple[str, ...]:
    """In a server of somebody else's: what PUBLIC may create there, and the statements that end it."""
    database, creates, schemas, _ = await _open_to_public(connection)
    objects = [*([f"DATABASE {database}"] if creates else []), *(f"SCHEMA {schema}" for schema in schemas)]
    if not objects:
        return ()
    statements = " ".join(f"REVOKE CREATE ON {name} FROM PUBLIC;" for name in objects)
    where = ", ".join(map(_lowered, objects))
    warning = Note(
        f"Every role may create objects in {where} of {address(dsn)!r}, so one scenario's code can plant functions"
        f" there that another scenario's code calls. The gate itself calls none of them.",
        f"Run: {statements}",
    )
    return (warning,)


def _lowered(name: str) -> str:
    kind, _, identifier = name.partition(" ")
    return f"{kind.lower()} {identifier}"


async def _open_to_public(connection: "Connection") -> tuple[str, bool, list[str], list[str]]:
    row = await (await connection.execute(_OPEN)).fetchone()
    return row or ("", False, [], [])
