"""What a tenant's role may not do, and what every way out of a tenant leaves: nothing."""

import asyncio

import psycopg
import pytest

from ratiba_action.errors import DatabaseError
from ratiba_action.model.plan import Arm
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from ratiba_action.tenancy.server import choose_server
from tests.support.eventually import eventually_async
from tests.support.sql import fetch, migration, run_sql, tenants_on

HEAD = Arm("head", "/checkout")
SCHEMA = "CREATE TABLE checkpoints (id int PRIMARY KEY, words text); INSERT INTO checkpoints VALUES (1, 'siri')"


async def test_postgresql_refuses_a_qualified_read_of_another_tenant_and_of_the_template(
    provisioner: PostgresTenantProvisioner, embedded_server_dsn: str
) -> None:
    await provisioner.prepare(HEAD, migration(SCHEMA))
    async with provisioner.provision("a", HEAD) as a, provisioner.provision("b", HEAD) as b:
        others = {name for name in await tenants_on(embedded_server_dsn) if name != a.schema}
        assert b.schema in others
        assert any(name.startswith("ratiba_template_") for name in others)
        for schema in others:
            for sql in (f"TABLE {schema}.checkpoints", f"SET ROLE {schema}", f"CREATE TABLE {schema}.x ()"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
                    await run_sql(a.dsn, sql)
        assert await fetch(a.dsn, "SELECT words FROM checkpoints") == [("siri",)]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE ROLE helper",
        "CREATE SCHEMA another",
        "CREATE TABLE public.left_behind (a int)",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT rolpassword FROM pg_authid",
        "DO $$ BEGIN EXECUTE format('COMMENT ON ROLE %I IS NULL', current_user); END $$",
        "ALTER ROLE CURRENT_USER CREATEROLE",
    ],
)
async def test_a_tenant_may_do_nothing_outside_its_schema(provisioner: PostgresTenantProvisioner, sql: str) -> None:
    await provisioner.prepare(HEAD, migration("SELECT"))
    async with provisioner.provision("curious", HEAD) as tenant:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await run_sql(tenant.dsn, sql)


async def test_code_that_a_migration_plants_never_runs_with_the_administrators_rights(
    provisioner: PostgresTenantProvisioner, embedded_server_dsn: str
) -> None:
    planted = """
        CREATE FUNCTION climb() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
            EXECUTE 'ALTER ROLE ' || quote_ident(session_user) || ' SUPERUSER'; RETURN true;
        EXCEPTION WHEN OTHERS THEN RETURN true; END $$;
        CREATE TABLE bait (id int CHECK (climb()), who name DEFAULT session_user);
        CREATE VIEW lure AS SELECT climb(), session_user::text AS who;
        INSERT INTO bait VALUES (1);
    """
    await provisioner.prepare(HEAD, migration(planted))
    async with provisioner.provision("climber", HEAD) as tenant:
        assert await provisioner.read(tenant, {"lure": "SELECT * FROM lure"}) == {
            "lure": ({"climb": True, "who": tenant.schema},)
        }
        supers = await fetch(embedded_server_dsn, "SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname ~ '^test_'")
        assert supers == [(0,)]


async def test_a_tenant_with_open_sessions_and_locks_is_dropped(
    provisioner: PostgresTenantProvisioner, embedded_server_dsn: str
) -> None:
    await provisioner.prepare(HEAD, migration(SCHEMA))
    async with provisioner.provision("busy", HEAD) as tenant:
        session = await psycopg.AsyncConnection.connect(tenant.dsn)
        await session.execute("LOCK TABLE checkpoints")
    assert tenant.schema not in await tenants_on(embedded_server_dsn)
    with pytest.raises(psycopg.OperationalError):
        await session.execute("SELECT 1")
    await session.close()


async def test_cancelling_at_any_moment_leaves_nothing(
    provisioner: PostgresTenantProvisioner, embedded_server_dsn: str
) -> None:
    await provisioner.prepare(HEAD, migration(SCHEMA))
    before = await tenants_on(embedded_server_dsn)

    async def scenario() -> None:
        async with provisioner.provision("cancelled", HEAD):
            await asyncio.Event().wait()

    for turns in range(0, 60, 4):
        task = asyncio.ensure_future(scenario())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    task = asyncio.ensure_future(scenario())
    await eventually_async(lambda: tenants_on(embedded_server_dsn), until=lambda now: now != before)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await tenants_on(embedded_server_dsn) == before


@pytest.mark.parametrize(
    "identity", ['"; DROP SCHEMA public CASCADE; --', "x" * 200, "ñandú 漢字 \x00", "", "%s {role}"]
)
async def test_a_hostile_scenario_id_is_only_a_name(provisioner: PostgresTenantProvisioner, identity: str) -> None:
    await provisioner.prepare(HEAD, migration(SCHEMA))
    async with provisioner.provision(identity, HEAD) as tenant:
        assert await fetch(tenant.dsn, "SELECT current_schema(), current_user") == [(tenant.schema, tenant.schema)]


async def test_migrations_that_fail_are_reported_and_leave_nothing(
    provisioner: PostgresTenantProvisioner, embedded_server_dsn: str
) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        await provisioner.prepare(HEAD, migration("SELECT * FROM absent"))
    await provisioner.close()
    assert await tenants_on(embedded_server_dsn) == set()


async def test_a_provisioner_that_was_not_started_says_so() -> None:
    idle = PostgresTenantProvisioner(choose_server("postgresql://localhost/absent"), "idle")
    with pytest.raises(DatabaseError, match="not started"):
        await idle.prepare(HEAD, migration("SELECT"))
    await idle.close()


async def test_an_administrator_with_no_more_than_the_two_rights_is_enough(embedded_server_dsn: str) -> None:
    await run_sql(
        embedded_server_dsn,
        "CREATE ROLE modest LOGIN CREATEROLE PASSWORD 'modest'; GRANT CREATE ON DATABASE postgres TO modest",
    )
    secret = embedded_server_dsn.split(":", 2)[2].split("@", 1)[0]
    tenants = PostgresTenantProvisioner(
        choose_server(embedded_server_dsn.replace(f"ratiba:{secret}", "modest:modest", 1)), "modest"
    )
    try:
        await tenants.start()
        await tenants.prepare(HEAD, migration(SCHEMA))
        async with tenants.provision("modest", HEAD) as tenant:
            session = await psycopg.AsyncConnection.connect(tenant.dsn)
            assert await fetch(tenant.dsn, "SELECT words FROM checkpoints") == [("siri",)]
        await session.close()
        await tenants.close()
        assert tenants.warnings == ()
        assert await tenants_on(embedded_server_dsn) == set()
    finally:
        await tenants.close()
        await run_sql(embedded_server_dsn, "DROP OWNED BY modest; DROP ROLE modest")
