"""Alembic's upgrade on one connection, without its command line and the globals that belong to that."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory
    from sqlalchemy import Connection

MIGRATIONS = Path(__file__).parent / "migrations"
"""The folder of the migrations, shipped with the package."""

_LOCK = 0x7261_7469_6262
"""A number of our own: runs that meet old tables bring them up to date one after the other."""

# Not CREATE SCHEMA IF NOT EXISTS: that asks for the right to make one even where it is there.
_SCHEMA = """
DO $$ BEGIN
    IF to_regnamespace('ratiba_history') IS NULL THEN
        CREATE SCHEMA ratiba_history;
        COMMENT ON SCHEMA ratiba_history IS 'ratiba metrics history';
    END IF;
END $$
"""


def upgrade(connection: "Connection", revision: str) -> None:
    """Bring the tables to a revision, all of it or nothing; does nothing where they are there.

    Args:
        connection: in a transaction that the caller ends; another one that upgrades waits for its end.
        revision: to stop at.

    Raises:
        sqlalchemy.exc.DBAPIError: the database refuses it.
    """
    from alembic.operations import Operations  # noqa: PLC0415 - for old tables only
    from alembic.runtime.migration import MigrationContext, MigrationStep  # noqa: PLC0415 - the same
    from sqlalchemy import text  # noqa: PLC0415 - the same

    connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
    connection.execute(text(_SCHEMA))
    scripts = script_directory()

    def steps(present: tuple[str, ...], _: MigrationContext) -> list[Any]:
        missing = reversed(list(scripts.iterate_revisions(revision, present)))
        return [MigrationStep.upgrade_from_script(scripts.revision_map, script) for script in missing]

    options = {"version_table_schema": "ratiba_history", "fn": steps}
    context = MigrationContext.configure(connection, opts=options)
    # The migrations speak through a name of the process; the lock above keeps two from doing so at once.
    with context.begin_transaction(), Operations.context(context):
        context.run_migrations()


def script_directory() -> "ScriptDirectory":
    """The migrations, as Alembic reads them."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - for old tables only

    return ScriptDirectory(str(MIGRATIONS))
