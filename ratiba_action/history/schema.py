"""The tables of the metrics history, made and brought up to date by Alembic."""

from typing import TYPE_CHECKING

from ratiba_action.core.dsn import passwords_in
from ratiba_action.errors import LedgerError
from ratiba_action.history.upgrade import upgrade
from ratiba_action.ledger.connection import LedgerConnection

if TYPE_CHECKING:
    from sqlalchemy import Engine

REVISIONS = ("tables", "append_only")
"""Every revision of the tables, the newest last; each is a file of ``migrations/versions``."""

GUIDE = (
    "Run 'ratiba report --to-history' once with the ledger-url of a role that may make and own tables there; "
    "docs/history.md has the rights that the gate's own role needs after that."
)

_CONNECT_SECONDS = 10
_STATEMENT_SECONDS = 15
_RIGHTS = """
SELECT relnamespace, has_schema_privilege(relnamespace, 'USAGE')
    AND bool_and(has_table_privilege(oid, 'SELECT'))
    AND bool_and(relname = 'alembic_version' OR has_table_privilege(oid, %(needed)s))
FROM pg_class WHERE relnamespace = to_regnamespace('ratiba_history') AND relkind = 'r' GROUP BY relnamespace
"""
_REVISION = "SELECT version_num FROM ratiba_history.alembic_version"


async def revision_of(connection: LedgerConnection, needed: str) -> str:
    """The revision of the tables; empty where there are none.

    Args:
        connection: to the ledger's database.
        needed: the right to the tables that is needed, ``SELECT`` or ``INSERT``.

    Raises:
        LedgerError: the server cannot be used, the role lacks the right, or a newer version of the gate made the
            tables.
    """
    tables = await connection.fetch_surely(_RIGHTS, {"needed": needed})
    if any(not allowed for _, allowed in tables):
        raise LedgerError(
            f"The role of ledger-url lacks the right to {needed} in the tables of the metrics history.",
            "Let their owner run the GRANT statements of docs/history.md for it.",
        )
    rows = await connection.fetch_surely(_REVISION) if tables else []
    revision = str(rows[0][0]) if rows else ""
    if revision and revision not in REVISIONS:
        raise LedgerError(
            f"The metrics history is of revision {revision!r}, and this gate knows {', '.join(REVISIONS)}.",
            "A newer version of the gate made its tables: use that version here too.",
        )
    return revision


def migrate(url: str, revision: str = REVISIONS[-1]) -> None:
    """Bring the tables to a revision; those that do so at the same time wait for each other.

    Args:
        url: connection string of the ledger's database, as libpq reads it.
        revision: to stop at.

    Raises:
        LedgerError: the role has not the right to, or the server cannot be used; nothing is changed then.
    """
    # A run without a ledger does without them, and so does one that finds its tables.
    import psycopg  # noqa: PLC0415
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415

    try:
        with _engine(url).begin() as connection:
            upgrade(connection, revision)
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(cause, psycopg.errors.InsufficientPrivilege):
            problem = "The tables of the metrics history are missing or old, and the role of ledger-url may not"
            raise LedgerError(f"{problem} make them: {_told(cause, url)}.", GUIDE) from None
        raise LedgerError(
            f"The tables of the metrics history could not be made: {_told(cause, url)}.",
            "Check RATIBA_LEDGER_URL and its server.",
        ) from None


def _engine(url: str) -> "Engine":
    import psycopg  # noqa: PLC0415 - as above
    from sqlalchemy import NullPool, create_engine  # noqa: PLC0415 - as above

    limits = f"-c statement_timeout={_STATEMENT_SECONDS}s -c lock_timeout={_STATEMENT_SECONDS}s"
    options = f"{limits} -c default_transaction_read_only=off -c search_path=pg_catalog"

    def connect() -> "psycopg.Connection":
        given = psycopg.conninfo.conninfo_to_dict(url).get("options") or ""
        return psycopg.connect(url, connect_timeout=_CONNECT_SECONDS, options=f"{given} {options}".strip())

    return create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)


def _told(error: object, url: str) -> str:
    text = str(error).split("\n")[0].strip()
    for password in passwords_in(url):
        text = text.replace(password, "***")
    return text.rstrip(".")
