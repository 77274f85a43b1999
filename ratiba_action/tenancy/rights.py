"""The rights that the gate needs on a server, asked before anything runs."""

from typing import TYPE_CHECKING

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.dsn import address

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection

_OLDEST = 140000

_QUESTION = """
SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), quote_ident(current_user),
    quote_ident(current_database()), r.rolsuper, r.rolcreaterole,
    has_database_privilege(current_database(), 'CREATE')
FROM pg_roles r WHERE r.rolname = current_user"""


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
