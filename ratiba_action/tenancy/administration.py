"""Makes and drops a tenant's role and schema: registration, rights, search path.

Runs no statement that could call the repository's code.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ratiba_action.errors import DatabaseError
from ratiba_action.model.note import Note
from ratiba_action.tenancy.connections import address, connected_elsewhere

if TYPE_CHECKING:
    from typing import LiteralString

    from ratiba_action.tenancy.connections import Connection


_SEARCH_PATH_QUESTION = """
SELECT pg_catalog.current_database(), ARRAY(
    SELECT DISTINCT n.nspname::text FROM pg_catalog.pg_extension e
    JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
    WHERE n.nspname <> 'pg_catalog' ORDER BY 1)"""


async def search_path(connection: "Connection") -> tuple[str, tuple[str, ...]]:
    """The database's name and the schemas of its extensions, without which their types would not be found."""
    row = await (await connection.execute(_SEARCH_PATH_QUESTION)).fetchone()
    database, extensions = row or ("", [])
    return database, tuple(extensions)


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
    names = ", ".join(map(_lowered, objects))
    warning = Note(
        f"Every role may create objects in {names} of {address(dsn)!r}, so one scenario's code can plant functions"
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


_MARK = "ratiba-eval-gate "


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered tenant or template: a comment on its role, which the role itself cannot change.

    Args:
        run: the run that made it; unique to one provisioner.
        database: where its schema lies. Roles belong to the whole server, schemas and run locks to one database.
        scenario: the scenario's id, or the arm's name for a template.
    """

    tenant: str
    run: str
    database: str
    scenario: str

    def comment(self) -> str:
        """The comment that ``parse`` reads back; plain ASCII."""
        return _MARK + json.dumps(asdict(self), sort_keys=True)


def parse(comment: str | None) -> Registration | None:
    """The registration in a role's comment; None when the comment is not ours."""
    if comment is None or not comment.startswith(_MARK):
        return None
    try:
        fields = json.loads(comment.removeprefix(_MARK))
        return Registration(**{name: str(fields[name]) for name in ("tenant", "run", "database", "scenario")})
    except (ValueError, KeyError, TypeError):
        return None


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
    connection: "Connection", name: str, verifier: str, search_path: Sequence[str], note: Registration
) -> None:
    """A login role without any right but on its own schema of the same name, in one transaction.

    Args:
        verifier: of its password; the server's log may hold statements, and never sees the password.
    """
    from psycopg import sql  # the pytest plug-in and the command line load without it

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
    from psycopg import sql

    await connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(template), sql.Identifier(name)))


async def take_back(connection: "Connection", template: str, name: str) -> None:
    """End what ``lend`` began."""
    from psycopg import sql

    await connection.execute(sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(template), sql.Identifier(name)))


async def end_sessions(connection: "Connection", name: str) -> None:
    """Refuse new sessions of a role and end those that are open, waiting until they are gone."""
    from psycopg import sql

    await connection.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(sql.Identifier(name)))
    await connection.execute(_END_SESSIONS, (name,))


async def drop(connection: "Connection", name: str) -> None:
    """End a role's sessions, then drop its schema, all else that it owns on the server, and itself.

    A role that does not exist is dropped already.

    Raises:
        psycopg.Error: it could not be dropped; what is left can be dropped by another call.
    """
    import psycopg
    from psycopg import sql

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
    from psycopg import sql

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
    from psycopg import sql

    for (transaction,) in await (await connection.execute(_PREPARED, (name,))).fetchall():
        await connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(name)))
        try:
            await connection.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(transaction)))
        finally:
            await connection.execute("RESET ROLE")
