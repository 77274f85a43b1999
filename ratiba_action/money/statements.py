"""The shared ledger in PostgreSQL: its tables, and the statements that move money, each atomic by itself.

Rows of accounts are locked in the order of their names before they are changed, so that no two statements can wait
for each other. A locked row is read as the last commit left it.
"""

import contextlib

from ratiba_action.errors import LedgerError, LedgerRightsError
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


_LACKS_INDEX = "SELECT to_regclass('ratiba_ledger.reservation_above') IS NULL"
# IF NOT EXISTS alone fails where two sessions make it at once.
_INDEX = f"""
DO $ledger$
BEGIN
    PERFORM pg_advisory_xact_lock({_LOCK});
    CREATE INDEX IF NOT EXISTS reservation_above
        ON ratiba_ledger.reservation (model, cost) WHERE cost > upper AND upper > 0;
END
$ledger$
"""


async def ensure_schema(connection: LedgerConnection) -> None:
    """Make the tables unless they are there; safe when many runs meet an empty database.

    The index of the calls that cost more than was reserved came later: a role that may not make it does without.

    Raises:
        LedgerError: the server cannot be used, the role may not make them, or a schema of that name is no ledger.
    """
    if not await has_schema(connection):
        await connection.fetch(_CREATE)
        await has_schema(connection)
    if (await connection.fetch(_LACKS_INDEX))[0][0]:
        with contextlib.suppress(LedgerRightsError):
            await connection.fetch(_INDEX)


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


OVERRUN = """
SELECT max(cost) FROM ratiba_ledger.reservation WHERE model = %(model)s AND cost > upper AND upper > 0
"""
"""What an answer of a model has cost above its upper bound. Nothing is reserved for what is spent already."""

OPEN_ACCOUNTS = """
INSERT INTO ratiba_ledger.account (scope) SELECT unnest(%(scopes)s::text[]) ORDER BY 1 ON CONFLICT DO NOTHING
"""

RESERVE = """
WITH held AS MATERIALIZED (
    SELECT account.scope, account.spent, account.reserved, asked.cap
    FROM ratiba_ledger.account
    JOIN unnest(%(scopes)s::text[], %(caps)s::numeric[]) AS asked(scope, cap) USING (scope)
    ORDER BY account.scope
    FOR UPDATE OF account
), fits AS MATERIALIZED (
    SELECT count(*) = cardinality(%(scopes)s::text[]) AND bool_and(spent + reserved + %(upper)s <= cap) AS all_of_them
    FROM held
), taken AS (
    UPDATE ratiba_ledger.account
    SET reserved = account.reserved + %(upper)s
    FROM held, fits
    WHERE account.scope = held.scope AND fits.all_of_them
), noted AS (
    INSERT INTO ratiba_ledger.reservation (id, run, scopes, party, model, upper)
    SELECT %(id)s, %(run)s, %(scopes)s::text[], %(party)s, %(model)s, %(upper)s FROM fits WHERE fits.all_of_them
)
SELECT held.scope, held.spent, held.reserved, fits.all_of_them FROM held, fits ORDER BY held.scope
"""
"""Sets ``upper`` aside in every account, or in none; returns what each held before."""

CLOSE = """
WITH mine AS MATERIALIZED (
    SELECT id, scopes, upper, coalesce(%(cost)s::numeric, upper) AS cost
    FROM ratiba_ledger.reservation
    WHERE id = %(id)s AND closed_at IS NULL
    FOR UPDATE
), held AS MATERIALIZED (
    SELECT account.scope
    FROM ratiba_ledger.account
    WHERE account.scope IN (SELECT unnest(scopes) FROM mine)
    ORDER BY account.scope
    FOR UPDATE OF account
), moved AS (
    UPDATE ratiba_ledger.account
    SET reserved = account.reserved - mine.upper, spent = account.spent + mine.cost
    FROM held, mine
    WHERE account.scope = held.scope
)
UPDATE ratiba_ledger.reservation
SET closed_at = clock_timestamp(), cost = mine.cost
FROM mine
WHERE reservation.id = mine.id
"""
"""Books ``cost``, or the whole reservation where it is null, instead of the reservation; once only."""

ACCOUNTS = """
SELECT scope, spent, reserved FROM ratiba_ledger.account WHERE scope = ANY(%(scopes)s::text[]) ORDER BY scope
"""
