"""The tables of the shared ledger, in a schema of their own."""

from ratiba_action.errors import LedgerError
from ratiba_action.money.connection import LedgerConnection

_LAYOUT = "ratiba shared ledger, layout 1"
# A number of our own: runs that meet an empty database make the schema one after the other.
_LOCK = 0x7261_7469_6261

_FOUND = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'ratiba_ledger'"

_CREATE = f"""
DO $ledger$
BEGIN
    PERFORM pg_advisory_xact_lock({_LOCK});
    IF EXISTS (SELECT FROM pg_namespace WHERE nspname = 'ratiba_ledger') THEN
        RETURN;
    END IF;
    CREATE SCHEMA ratiba_ledger;
    CREATE TABLE ratiba_ledger.account (
        scope text PRIMARY KEY,
        spent numeric NOT NULL DEFAULT 0 CHECK (spent >= 0 AND spent < 'Infinity'),
        reserved numeric NOT NULL DEFAULT 0 CHECK (reserved >= 0 AND reserved < 'Infinity')
    ) WITH (fillfactor = 50);
    CREATE TABLE ratiba_ledger.reservation (
        id uuid PRIMARY KEY,
        run text NOT NULL,
        scopes text[] NOT NULL,
        party text NOT NULL,
        model text NOT NULL,
        upper numeric NOT NULL CHECK (upper >= 0 AND upper < 'Infinity'),
        cost numeric CHECK (cost >= 0 AND cost < 'Infinity'),
        opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        closed_at timestamptz,
        CHECK ((cost IS NULL) = (closed_at IS NULL))
    );
    CREATE INDEX reservation_open ON ratiba_ledger.reservation (opened_at) WHERE closed_at IS NULL;
    COMMENT ON SCHEMA ratiba_ledger IS '{_LAYOUT}';
END
$ledger$
"""


async def ensure_schema(connection: LedgerConnection) -> None:
    """Make the tables unless they are there; safe when many runs meet an empty database.

    Raises:
        LedgerError: the server cannot be used, the role may not make them, or a schema of that name is no ledger.
    """
    if not await has_schema(connection):
        await connection.fetch(_CREATE)
        await has_schema(connection)


async def has_schema(connection: LedgerConnection) -> bool:
    """Whether the tables are there.

    Raises:
        LedgerError: the server cannot be used, or a schema of that name is no ledger.
    """
    found = await connection.fetch(_FOUND)
    if found and found != [(_LAYOUT,)]:
        raise LedgerError(
            f"The schema ratiba_ledger says {found[0][0]!r}, not {_LAYOUT!r}.",
            "Another version of the gate made it: give ledger-url a database of its own.",
        )
    return bool(found)
