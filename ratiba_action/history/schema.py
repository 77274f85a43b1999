"""The tables of the metrics history: how they are made, brought up to date and checked."""

from collections.abc import Mapping

from ratiba_action.errors import LedgerError, LedgerRightsError
from ratiba_action.money.connection import LedgerConnection
from ratiba_action.util.installation import page

_TABLES = """
CREATE TABLE ratiba_history.run (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repository text NOT NULL,
    gate text NOT NULL,
    commit text NOT NULL,
    run_id bigint NOT NULL,
    run_attempt integer NOT NULL CHECK (run_attempt > 0),
    started_at timestamptz NOT NULL,
    event text NOT NULL,
    branch text NOT NULL,
    pull_request bigint,
    suite_version text NOT NULL,
    mode text NOT NULL,
    conclusion text NOT NULL,
    answers text NOT NULL,
    judge_model text NOT NULL,
    spent_usd numeric NOT NULL CHECK (spent_usd >= 0 AND spent_usd < 'Infinity'),
    seconds double precision NOT NULL,
    trials integer NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (repository, gate, run_id, run_attempt, commit, started_at)
);
CREATE INDEX run_of_branch ON ratiba_history.run (repository, gate, branch, started_at DESC);
CREATE TABLE ratiba_history.result (
    run bigint NOT NULL REFERENCES ratiba_history.run,
    scenario text NOT NULL,
    trial integer NOT NULL,
    status text NOT NULL
);
CREATE INDEX result_of_run ON ratiba_history.result (run);
CREATE TABLE ratiba_history.metric (
    run bigint NOT NULL REFERENCES ratiba_history.run,
    scenario text NOT NULL,
    trial integer NOT NULL,
    metric text NOT NULL,
    version text NOT NULL,
    judge_model text NOT NULL,
    score double precision NOT NULL CHECK (score BETWEEN 0 AND 1),
    threshold double precision NOT NULL,
    status text NOT NULL
);
CREATE INDEX metric_of_run ON ratiba_history.metric (run, metric);
"""

_APPEND_ONLY = """
CREATE FUNCTION ratiba_history.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION 'The metrics history is append-only: % of % is refused.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ratiba_history.run
    FOR EACH STATEMENT EXECUTE FUNCTION ratiba_history.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ratiba_history.result
    FOR EACH STATEMENT EXECUTE FUNCTION ratiba_history.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ratiba_history.metric
    FOR EACH STATEMENT EXECUTE FUNCTION ratiba_history.refuse_change();
"""

_REQUIRED = """
ALTER TABLE ratiba_history.metric ADD COLUMN required text NOT NULL DEFAULT '';
"""

_JUDGES = """
ALTER TABLE ratiba_history.run
    ADD COLUMN second_model text NOT NULL DEFAULT '',
    ADD COLUMN pairs integer NOT NULL DEFAULT 0,
    ADD COLUMN same_side double precision,
    ADD COLUMN kappa double precision;
ALTER TABLE ratiba_history.metric ADD COLUMN repeats double precision[] NOT NULL DEFAULT '{}';
"""

_EXECUTION = """
CREATE TABLE ratiba_history.execution (
    id uuid PRIMARY KEY,
    repository text NOT NULL,
    gate text NOT NULL,
    commit text NOT NULL,
    run_id bigint NOT NULL,
    run_attempt integer NOT NULL,
    mode text NOT NULL,
    seconds double precision NOT NULL CHECK (seconds > 0 AND seconds < 10000000),
    started_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX execution_of_gate ON ratiba_history.execution (gate, started_at DESC);
CREATE INDEX execution_of_run ON ratiba_history.execution (run_id);
CREATE TABLE ratiba_history.ending (
    execution uuid PRIMARY KEY REFERENCES ratiba_history.execution,
    ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    outcome json NOT NULL
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ratiba_history.execution
    FOR EACH STATEMENT EXECUTE FUNCTION ratiba_history.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ratiba_history.ending
    FOR EACH STATEMENT EXECUTE FUNCTION ratiba_history.refuse_change();
DECLARE
    granted record;
BEGIN
    FOR granted IN
        SELECT acl.privilege_type AS allowed, acl.grantee AS role FROM pg_class, aclexplode(relacl) AS acl
        WHERE pg_class.oid = 'ratiba_history.run'::regclass AND acl.privilege_type IN ('SELECT', 'INSERT')
            AND acl.grantee <> relowner
    LOOP
        EXECUTE format(
            'GRANT %s ON ratiba_history.execution, ratiba_history.ending TO %s',
            granted.allowed,
            CASE granted.role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(granted.role)::text) END
        );
    END LOOP;
END;
"""
"""Whoever may read or write runs may do so with these, too: a role's own grants name the tables that there were."""

_DECLINE = """
ALTER TABLE ratiba_history.run
    ADD COLUMN anchor text NOT NULL DEFAULT '',
    ADD COLUMN decline double precision;
ALTER TABLE ratiba_history.result ADD COLUMN digest text NOT NULL DEFAULT '';
"""

_ANSWERED_BY = """
ALTER TABLE ratiba_history.metric ADD COLUMN answered_by text NOT NULL DEFAULT '';
"""

_REVISIONS: Mapping[str, str] = {
    "tables": _TABLES,
    "append_only": _APPEND_ONLY,
    "required": _REQUIRED,
    "judges": _JUDGES,
    "execution": _EXECUTION,
    "decline": _DECLINE,
    "answered_by": _ANSWERED_BY,
}
"""Every revision, the newest last, and what makes it of the one before. One that has been released never changes."""

# The first versions of the gate used Alembic, which gave the table of the revision its name and columns.
_REVISION = "SELECT version_num FROM ratiba_history.alembic_version"
# A number of our own: runs that meet old tables bring them up to date one after the other.
_LOCK = 0x7261_7469_6262
# Not CREATE SCHEMA IF NOT EXISTS: that asks for the right to make one even where it is there.
_BEGIN = f"""
PERFORM pg_advisory_xact_lock({_LOCK});
IF to_regnamespace('ratiba_history') IS NULL THEN
    CREATE SCHEMA ratiba_history;
    COMMENT ON SCHEMA ratiba_history IS 'ratiba metrics history';
END IF;
IF to_regclass('ratiba_history.alembic_version') IS NULL THEN
    CREATE TABLE ratiba_history.alembic_version (version_num varchar(32) PRIMARY KEY);
END IF;
"""
_STEP = """
IF (SELECT max(version_num) FROM ratiba_history.alembic_version) IS NOT DISTINCT FROM {before} THEN
    {statements}
    DELETE FROM ratiba_history.alembic_version;
    INSERT INTO ratiba_history.alembic_version VALUES ({after});
END IF;
"""
_RIGHTS = """
SELECT relnamespace, has_schema_privilege(relnamespace, 'USAGE')
    AND bool_and(has_table_privilege(oid, 'SELECT'))
    AND bool_and(relname = 'alembic_version' OR has_table_privilege(oid, %(needed)s))
FROM pg_class WHERE relnamespace = to_regnamespace('ratiba_history') AND relkind = 'r' GROUP BY relnamespace
"""
_GUIDE = (
    "Run 'ratiba report --to-history' once with the ledger-url of a role that may make and own tables there. "
    "The rights that the gate's own role needs after that: {page}"
)


def reaches(revision: str, wanted: str) -> bool:
    """Whether tables of a revision have what another one, such as ``required`` or ``execution``, added."""
    known = list(_REVISIONS)
    return revision in known[known.index(wanted) :]


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
            "Let their owner run, with the role's name: GRANT USAGE ON SCHEMA ratiba_history TO …; "
            "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA ratiba_history TO …;",
        )
    rows = await connection.fetch_surely(_REVISION) if tables else []
    revision = str(rows[0][0]) if rows else ""
    if revision and revision not in _REVISIONS:
        raise LedgerError(
            f"The metrics history is of revision {revision!r}, and this gate knows {', '.join(_REVISIONS)}.",
            "A newer version of the gate made its tables: use that version here too.",
        )
    return revision


async def ensure_tables(connection: LedgerConnection) -> None:
    """Make the tables, or bring them up to date, all of it or nothing.

    Those that do so at the same time wait for each other.

    Raises:
        LedgerError: the role has not the right to, or the server cannot be used.
    """
    if await revision_of(connection, "INSERT") == list(_REVISIONS)[-1]:
        return
    try:
        await connection.fetch_surely(_upgrade())
    except LedgerRightsError as error:
        problem = "The tables of the metrics history are missing or old, and the role of ledger-url may not make them"
        raise LedgerError(f"{problem}: {error.cause}.", _GUIDE.format(page=page("history"))) from None


def _upgrade() -> str:
    """One statement, which does nothing where the tables are up to date."""
    versions = ["NULL", *(f"'{revision}'" for revision in _REVISIONS)]
    steps = [
        _STEP.format(before=before, after=after, statements=statements)
        for before, after, statements in zip(versions[:-1], versions[1:], _REVISIONS.values(), strict=True)
    ]
    return f"DO $history$ BEGIN {_BEGIN} {''.join(steps)} END $history$"
