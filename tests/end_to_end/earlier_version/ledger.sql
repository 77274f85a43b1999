-- Made by the version before: one run of a pull request, with its calls to the system's model and to two judges.
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
COMMENT ON SCHEMA ratiba_ledger IS 'ratiba shared ledger, layout 1';
INSERT INTO ratiba_ledger.account VALUES (to_char(now() AT TIME ZONE 'UTC', '"month:"YYYY-MM'), 0.0140, 0);
INSERT INTO ratiba_ledger.reservation
SELECT id::uuid, 'c90c7389b9ae636e', ARRAY[scope], party, model, upper, cost, now(), now()
FROM ratiba_ledger.account, (VALUES
    ('10229926-b666-446f-a216-7afb7c1351de', 'system', 'gpt-5', 0.005612, 0.002),
    ('d7aebf64-efe8-476a-8375-f32f7a787ebd', 'judge', 'claude-opus-5-5', 0.10977, 0.0075),
    ('6d229437-ba42-48c6-a5db-0ace809c3e72', 'cross-check', 'gpt-5.6', 0.066246, 0.0045)
) AS calls (id, party, model, upper, cost);
