"""The tables of runs, of their results and of their metrics."""

from alembic import op

revision = "tables"
down_revision = None
branch_labels = None
depends_on = None

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


def upgrade() -> None:
    """Make them."""
    op.execute(_TABLES)
