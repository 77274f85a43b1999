"""Where a tenant's session looks for names: its own schema, then those that hold the database's extensions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection

_QUESTION = """
SELECT pg_catalog.current_database(), ARRAY(
    SELECT DISTINCT n.nspname::text FROM pg_catalog.pg_extension e
    JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
    WHERE n.nspname <> 'pg_catalog' ORDER BY 1)"""


async def search_path(connection: "Connection") -> tuple[str, tuple[str, ...]]:
    """The database's name and the schemas of its extensions, without which their types would not be found."""
    row = await (await connection.execute(_QUESTION)).fetchone()
    database, extensions = row or ("", [])
    return database, tuple(extensions)
