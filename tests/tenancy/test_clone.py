"""A clone holds all that the migrated schema holds; what it could not hold is refused by name."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from langgraph.checkpoint.postgres import PostgresSaver

from ratiba_action.errors import DatabaseError
from ratiba_action.model.plan import Arm
from ratiba_action.tenancy.clone import catalogue, differences
from ratiba_action.tenancy.connections import connected_as_tenant
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from tests.support.sql import fetch, migration, run_sql

HEAD = Arm("head", "/checkout")
ENVIRONMENT = """
from alembic import context
from sqlalchemy import create_engine
engine = create_engine(context.config.attributes["url"])
with engine.connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
engine.dispose()
"""
REVISION = """
import sqlalchemy as sa
from alembic import op
revision, down_revision = "first", None
def upgrade():
    op.create_table("services", sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.Text, unique=True))
    op.create_table("bookings", sa.Column("id", sa.Integer, primary_key=True),
                    sa.Column("service", sa.Integer, sa.ForeignKey("services.id"), nullable=False, index=True),
                    sa.Column("status", sa.Enum("confirmed", "cancelled", name="status")))
    op.execute("INSERT INTO services (name) VALUES ('massage')")
"""
RICH = Path(__file__).with_name("rich_schema.sql").read_text()


async def migrate_rich(dsn: str) -> None:
    await run_sql(dsn, RICH)
    await run_sql(dsn, "CREATE INDEX CONCURRENTLY booking_parent ON booking (parent)")


async def test_a_clone_of_every_kind_of_object_equals_a_schema_that_was_migrated_itself(
    provisioner: PostgresTenantProvisioner,
) -> None:
    await provisioner.prepare(HEAD, migrate_rich)
    await provisioner.prepare(Arm("empty", "/checkout"), migration("SELECT"))
    async with (
        provisioner.provision("cloned", HEAD) as cloned,
        provisioner.provision("migrated", Arm("empty", "/checkout")) as migrated,
    ):
        await migrate_rich(migrated.dsn)
        async with connected_as_tenant(cloned.dsn, 30) as one, connected_as_tenant(migrated.dsn, 30) as other:
            ours, theirs = await catalogue(one, cloned.schema), await catalogue(other, migrated.schema)
    # Rows are compared when the arm is prepared; here each migration drew its own random ids.
    found = [each for each in differences(ours, theirs) if not each.startswith("rows ")]
    assert found == []
    assert all(ours[kind] for kind in ours), "every kind of object occurs"


async def test_a_clone_works_and_its_sequences_go_on_where_the_template_stopped(
    provisioner: PostgresTenantProvisioner,
) -> None:
    await provisioner.prepare(HEAD, migrate_rich)
    async with provisioner.provision("works", HEAD) as tenant:
        await run_sql(tenant.dsn, "INSERT INTO booking (odd) VALUES (2); CALL tidy()")
        odd = 'INSERT INTO "Odd ""name"" %s" (cents, name) VALUES (1, \'x\') RETURNING "select", always, kes'
        assert await fetch(tenant.dsn, odd) == [(3, 20, Decimal("0.01"))]
        with pytest.raises(Exception, match="to_odd"):
            await run_sql(tenant.dsn, "INSERT INTO booking (odd) VALUES (99)")
        assert await fetch(tenant.dsn, "SELECT count(*) FROM booking") == [(2,)]


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("CREATE TABLE visits (at date) PARTITION BY RANGE (at)", "partitioned table 'visits'"),
        ("CREATE TABLE old (a int); CREATE TABLE new () INHERITS (old)", "inherited table 'new'"),
        ("CREATE TYPE span AS RANGE (subtype = int)", "range or base type 'span'"),
        ("CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int)", "aggregate or window function 'total(integer)'"),
        ('CREATE COLLATION mine FROM "C"', "collation 'mine'"),
        ("CREATE TEXT SEARCH CONFIGURATION swahili (COPY = simple)", "text search configuration 'swahili'"),
    ],
)
async def test_what_cannot_be_cloned_is_refused_by_name(
    provisioner: PostgresTenantProvisioner, sql: str, named: str
) -> None:
    with pytest.raises(DatabaseError) as caught:
        await provisioner.prepare(HEAD, migration(sql))
    assert named in str(caught.value)


async def test_a_foreign_key_into_another_schema_is_kept(
    provisioner: PostgresTenantProvisioner, embedded_server_dsn: str
) -> None:
    await run_sql(
        embedded_server_dsn,
        "CREATE TABLE public.shared (id int PRIMARY KEY); GRANT REFERENCES ON public.shared TO PUBLIC",
    )
    try:
        await provisioner.prepare(HEAD, migration("CREATE TABLE mine (id int REFERENCES public.shared)"))
        async with provisioner.provision("refers", HEAD) as tenant:
            query = "SELECT confrelid = 'public.shared'::regclass FROM pg_constraint WHERE conrelid = 'mine'::regclass"
            assert (True,) in await fetch(tenant.dsn, f"{query} AND contype = 'f'")
    finally:
        await provisioner.close()
        await run_sql(embedded_server_dsn, "DROP TABLE public.shared CASCADE")


async def test_alembic_and_langgraph_migrations_are_cloned_with_their_version_rows(
    provisioner: PostgresTenantProvisioner, tmp_path: Path
) -> None:
    (tmp_path / "versions").mkdir()
    (tmp_path / "env.py").write_text(ENVIRONMENT)
    (tmp_path / "versions" / "first.py").write_text(REVISION)
    await provisioner.prepare(HEAD, lambda dsn: asyncio.to_thread(migrate_for_real, dsn, tmp_path))
    async with provisioner.provision("real", HEAD) as tenant:
        assert await fetch(tenant.dsn, "SELECT version_num FROM alembic_version") == [("first",)]
        assert await fetch(tenant.dsn, "SELECT max(v) FROM checkpoint_migrations") == [(9,)]
        # Migrating again finds nothing to do, and does not fail.
        await asyncio.to_thread(migrate_for_real, tenant.dsn, tmp_path)
        assert await fetch(tenant.dsn, "SELECT count(*) FROM alembic_version") == [(1,)]


def migrate_for_real(dsn: str, folder: Path) -> None:
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.attributes["url"] = dsn.replace("postgresql://", "postgresql+psycopg://", 1)
    command.upgrade(config, "head")
    with PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()
