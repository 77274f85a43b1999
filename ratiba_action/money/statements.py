"""The statements that move money in the shared ledger; each is atomic by itself.

Rows of accounts are locked in the order of their names before they are changed, so that no two statements can wait
for each other. A locked row is read as the last commit left it.
"""

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
"""Sets ``upper`` aside in every account, or in none; tells what each held before."""

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
"""Books ``cost``, or the whole reservation where it is null, in place of the reservation; once only."""

ACCOUNTS = """
SELECT scope, spent, reserved FROM ratiba_ledger.account WHERE scope = ANY(%(scopes)s::text[]) ORDER BY scope
"""

OPEN_RESERVATIONS = """
SELECT id, run, scopes, party, model, upper, opened_at
FROM ratiba_ledger.reservation WHERE closed_at IS NULL ORDER BY opened_at, id
"""
