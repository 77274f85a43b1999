"""What was written stays: the database itself refuses to change or remove it."""

from alembic import op

revision = "append_only"
down_revision = "tables"
branch_labels = None
depends_on = None

_REFUSE = """
CREATE FUNCTION ratiba_history.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION 'The metrics history is append-only: % of % is refused.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$
"""


def upgrade() -> None:
    """Refuse it for every table."""
    op.execute(_REFUSE)
    for table in ("run", "result", "metric"):
        op.execute(
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ratiba_history.{table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION ratiba_history.refuse_change()"
        )
