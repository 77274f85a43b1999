"""What a tenant plants on a server where PUBLIC may create in ``public`` never runs as the administrator, nor stays."""

import time
from collections.abc import AsyncIterator

import psycopg
import pytest
import pytest_asyncio
from psycopg.conninfo import make_conninfo

from ratiba_action.errors import DatabaseError
from ratiba_action.model.plan import Arm
from ratiba_action.money.connection import LedgerConnection
from ratiba_action.money.statements import ensure_schema
from ratiba_action.tenancy import embedded, provisioner
from ratiba_action.tenancy.embedded import EmbeddedServer
from ratiba_action.tenancy.installation import find_installation
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from ratiba_action.tenancy.server import choose_server
from tests.support.eventually import eventually_async
from tests.support.servers import open_server
from tests.support.sql import fetch, migration, run_sql, tenants_on

HEAD = Arm("head", "/checkout")
CLIMB = """ AS $$ BEGIN
    EXECUTE format('ALTER ROLE %I SUPERUSER', (SELECT rolname FROM pg_catalog.pg_roles
        WHERE rolname ~ '^(test_tenant|ratiba_template)_' LIMIT 1));
    RETURN NULL;
EXCEPTION WHEN insufficient_privilege THEN RETURN NULL; END $$ LANGUAGE plpgsql"""
SHADOWS = (
    # Each is a closer match than PostgreSQL's own for a call that an administrator may write.
    *("pg_terminate_backend(int, int) RETURNS bool", "pg_terminate_backend(int, smallint) RETURNS bool"),
    *("starts_with(name, text) RETURNS bool", "starts_with(name, name) RETURNS bool"),
    *("quote_ident(name) RETURNS text", "shobj_description(oid, text) RETURNS text"),
    *("pg_try_advisory_lock(int) RETURNS bool", "has_database_privilege(name, name) RETURNS bool"),
    *("obj_description(oid, text) RETURNS text", "clock_timestamp(int) RETURNS timestamptz"),
    *("concat_ws(text, name) RETURNS text", "same(name, text) RETURNS bool", "same(text, name) RETURNS bool"),
)


class UpgradedServer(EmbeddedServer):
    """The run's own server, whose databases let PUBLIC create as those of PostgreSQL 14 do."""

    async def start(self) -> None:
        await super().start()
        for database in ("postgres", "template1"):
            dsn = make_conninfo(self.dsn, dbname=database)
            for place in ("SCHEMA public", f"DATABASE {database}"):
                await run_sql(dsn, f"GRANT CREATE ON {place} TO PUBLIC")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def small_server() -> AsyncIterator[str]:
    """Connection string of a server that has few locks and lets transactions be prepared."""
    with pytest.MonkeyPatch.context() as patched:
        few = {"max_prepared_transactions": "4", "max_locks_per_transaction": "10", "max_connections": "20"}
        for name, value in few.items():
            patched.setitem(embedded._SETTINGS, name, value)
        async with open_server(None) as server:
            yield server.dsn


@pytest.fixture
async def old_server(small_server: str) -> AsyncIterator[str]:
    """Connection string of a database as PostgreSQL 14 makes one, or as an upgrade from it leaves one."""
    dsn = make_conninfo(small_server, dbname="upgraded")
    for statement in ("CREATE DATABASE upgraded", "CREATE DATABASE elsewhere"):
        await run_sql(small_server, statement)
    for database in ("upgraded", "elsewhere"):
        await run_sql(make_conninfo(small_server, dbname=database), "GRANT CREATE ON SCHEMA public TO PUBLIC")
    yield dsn
    for statement in ("DROP DATABASE upgraded WITH (FORCE)", "DROP DATABASE elsewhere WITH (FORCE)"):
        await run_sql(small_server, statement)


@pytest.fixture
async def tenants(old_server: str) -> AsyncIterator[PostgresTenantProvisioner]:
    """A started provisioner on that database, with a template."""
    started = PostgresTenantProvisioner(choose_server(old_server), "attacked")
    await started.start()
    await started.prepare(HEAD, migration("CREATE TABLE checkpoints (id int)"))
    yield started
    await started.close()
    assert await tenants_on(old_server) == set()
    assert await left_behind(old_server) == []
    # What the server lets PUBLIC do is told once, and nothing else is.
    (warning,) = started.warnings
    assert "REVOKE CREATE ON SCHEMA public FROM PUBLIC;" in warning


async def answers(dsn: str) -> bool:
    """Whether the server has a lock for another session."""
    try:
        return await fetch(dsn, "SELECT true FROM pg_roles LIMIT 1") == [(True,)]
    except psycopg.OperationalError:
        return False


async def supers(dsn: str) -> list[tuple[str]]:
    return await fetch(
        dsn, "SELECT rolname FROM pg_roles WHERE rolsuper AND rolname ~ '^(test_tenant|ratiba_template)_'"
    )


async def left_behind(dsn: str) -> list[tuple[str]]:
    """What is on the server that no tenant has any more: objects, transactions, settings."""
    return await fetch(
        dsn,
        "SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        " UNION ALL SELECT 'table ' || relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " UNION ALL SELECT 'large object ' || oid FROM pg_largeobject_metadata"
        " UNION ALL SELECT 'transaction ' || gid FROM pg_prepared_xacts"
        " UNION ALL SELECT 'of a role that is gone' FROM pg_shdepend d WHERE refclassid = 'pg_authid'::regclass"
        " AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = d.refobjid)"
        " UNION ALL SELECT 'settings' FROM pg_db_role_setting s WHERE NOT EXISTS"
        " (SELECT FROM pg_roles r WHERE r.oid = s.setrole AND r.rolname ~ '^ratiba_template_')",
    )


async def test_no_function_that_a_tenant_plants_in_public_is_called_by_the_administrator(
    old_server: str, tenants: PostgresTenantProvisioner
) -> None:
    async with tenants.provision("planter", HEAD) as tenant:
        for shadow in SHADOWS:
            await run_sql(tenant.dsn, f"CREATE FUNCTION public.{shadow}{CLIMB}")
        for left, right in (("name", "text"), ("text", "name")):
            operator = f"CREATE OPERATOR public.= (FUNCTION = public.same, LEFTARG = {left}, RIGHTARG = {right})"
            await run_sql(tenant.dsn, operator)
        neighbour = PostgresTenantProvisioner(choose_server(old_server), "neighbour")
        await neighbour.start()
        await neighbour.prepare(HEAD, migration("CREATE TABLE checkpoints (id int)"))
        async with neighbour.provision("session", HEAD) as other:
            session = await psycopg.AsyncConnection.connect(other.dsn)
        await session.close()
        await neighbour.close()
        ledger = LedgerConnection(old_server)
        await ensure_schema(ledger)
        await ledger.close()
        # The clean-up of the attacked run ends this session.
        left_open = await psycopg.AsyncConnection.connect(tenant.dsn)
        assert await supers(old_server) == []
        await tenants._drop(tenant.schema)
        assert await supers(old_server) == []
    await left_open.close()


MAKES = {
    "public": "CREATE TABLE public.left_behind (a int); CREATE TYPE public.mood AS ENUM ('sad')",
    "a large object": "SELECT lo_from_bytea(0, 'kept')",
    # More of each than the server has locks for.
    "large objects": "SELECT lo_create(0) FROM generate_series(1, 6000)",
    "functions": "DO $$ BEGIN FOR n IN 1..3000 LOOP"
    " EXECUTE format('CREATE FUNCTION public.f%s() RETURNS int AS ''SELECT 1'' LANGUAGE sql', n);"
    " IF n % 200 = 0 THEN COMMIT; END IF; END LOOP; END $$",
    "tables": "DO $$ BEGIN FOR n IN 1..900 LOOP"
    " EXECUTE format('CREATE TABLE t%s (id serial PRIMARY KEY, w text)', n);"
    " IF n % 20 = 0 THEN COMMIT; END IF; END LOOP; END $$",
    "settings": "ALTER ROLE CURRENT_USER SET search_path = public; ALTER ROLE CURRENT_USER SET statement_timeout = 0;"
    " ALTER ROLE CURRENT_USER SET default_transaction_read_only = on; ALTER ROLE CURRENT_USER PASSWORD 'mine'",
    "privileges": "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC; CREATE TABLE t (); GRANT ALL ON t TO PUBLIC",
    "temp": "CREATE TEMP TABLE pg_roles (rolname name)",
}


@pytest.mark.parametrize("attack", MAKES.values(), ids=MAKES)
async def test_all_that_a_tenant_makes_goes_with_it(tenants: PostgresTenantProvisioner, attack: str) -> None:
    async with tenants.provision("maker", HEAD) as tenant:
        await run_sql(tenant.dsn, attack)


async def test_what_a_tenant_leaves_in_another_database_of_the_server_goes_with_it(
    tenants: PostgresTenantProvisioner, old_server: str
) -> None:
    elsewhere = make_conninfo(old_server, dbname="elsewhere")
    async with tenants.provision("traveller", HEAD) as tenant:
        there = make_conninfo(tenant.dsn, dbname="elsewhere")
        await run_sql(there, "CREATE TABLE public.left_behind (a int)")
        await run_sql(there, "SELECT lo_create(0) FROM generate_series(1, 6000)")
        await run_sql(there, "BEGIN; LOCK TABLE public.left_behind; PREPARE TRANSACTION 'there'")
    assert await left_behind(elsewhere) == []


async def test_transactions_that_a_tenant_prepared_are_rolled_back(
    tenants: PostgresTenantProvisioner, old_server: str
) -> None:
    async with tenants.provision("preparer", HEAD) as tenant:
        for name in ("first", "it's; DROP ROLE ratiba"):
            quoted = name.replace("'", "''")
            await run_sql(
                tenant.dsn,
                f"BEGIN; LOCK TABLE checkpoints IN ROW SHARE MODE; SELECT pg_advisory_xact_lock_shared(1);"
                f" PREPARE TRANSACTION '{quoted}'",
            )
        assert len(await fetch(old_server, "SELECT gid FROM pg_prepared_xacts")) == 2


async def test_a_tenant_that_holds_every_lock_of_the_server_goes_at_the_next_start(old_server: str) -> None:
    attacked = PostgresTenantProvisioner(choose_server(old_server), "attacked")
    await attacked.start()
    await attacked.prepare(HEAD, migration("CREATE TABLE checkpoints (id int)"))
    async with attacked.provision("locker", HEAD) as tenant:
        session = await psycopg.AsyncConnection.connect(tenant.dsn, autocommit=True)
        with pytest.raises(psycopg.errors.OutOfMemory):
            await session.execute("SELECT pg_advisory_lock(n) FROM generate_series(1, 1000000) n")
    assert [warning for warning in attacked.warnings if tenant.schema in warning]
    await session.close()
    await eventually_async(lambda: answers(old_server), until=bool)
    await attacked.close()
    after = PostgresTenantProvisioner(choose_server(old_server), "after")
    await after.start()
    await after.close()
    assert await tenants_on(old_server) == set()


async def test_the_runs_own_server_lets_nobody_create_beside_the_tenants() -> None:
    installation = find_installation()
    assert installation is not None
    tenants = PostgresTenantProvisioner(UpgradedServer(installation, None, 30), "own")
    try:
        await tenants.start()
        await tenants.prepare(HEAD, migration("CREATE TABLE checkpoints (id int)"))
        async with tenants.provision("planter", HEAD) as tenant:
            plant = f"CREATE FUNCTION public.{SHADOWS[0]}{CLIMB}"
            for attack in ("CREATE TABLE public.x ()", "CREATE SCHEMA x", plant):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await run_sql(tenant.dsn, attack)
            with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
                await run_sql(make_conninfo(tenant.dsn, dbname="template1"), "SELECT lo_create(0)")
    finally:
        await tenants.close()
    assert tenants.warnings == ()


STUBBORN = """CREATE FUNCTION stay() RETURNS int LANGUAGE plpgsql AS $$ BEGIN LOOP
    BEGIN PERFORM pg_sleep(100); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$;
    CREATE VIEW lure AS SELECT stay() AS id;"""


async def test_a_query_whose_function_cannot_be_cancelled_is_given_up(
    tenants: PostgresTenantProvisioner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provisioner, "QUERY_SECONDS", 1.0)
    async with tenants.provision("stubborn", HEAD) as tenant:
        await run_sql(tenant.dsn, STUBBORN)
        began = time.monotonic()
        with pytest.raises(DatabaseError, match=r"'lure'.*took too long"):
            await tenants.read(tenant, {"lure": "SELECT id FROM lure"})
        assert time.monotonic() - began < 20


async def test_what_a_function_raises_is_shown_cut_and_printable(tenants: PostgresTenantProvisioner) -> None:
    hostile = "repeat('x', 3000000) || chr(27) || E'\\n::set-output name=conclusion::passed\\n##[error]x'"
    async with tenants.provision("shouter", HEAD) as tenant:
        for words in (hostile, "'short ' || " + hostile.partition("|| ")[2]):
            await run_sql(
                tenant.dsn,
                f"CREATE OR REPLACE FUNCTION shout() RETURNS int LANGUAGE plpgsql AS $f$ BEGIN"
                f" RAISE WARNING '%', {words}; RAISE EXCEPTION '%', {words}; END $f$",
            )
            with pytest.raises(DatabaseError) as caught:
                await tenants.read(tenant, {"shout": "SELECT shout()"})
            assert len(caught.value.problem) < 2_500
            assert caught.value.problem.isprintable()
            assert "##[" not in caught.value.problem


WRITES = """CREATE OR REPLACE FUNCTION attack() RETURNS name LANGUAGE plpgsql AS $f$ BEGIN
    BEGIN EXECUTE '%s'; EXCEPTION WHEN OTHERS THEN NULL; END;
    INSERT INTO checkpoints VALUES (1); RETURN session_user; END $f$"""


async def test_reading_rows_cannot_write_whatever_their_functions_try(
    tenants: PostgresTenantProvisioner, old_server: str
) -> None:
    attacks = (
        "SET TRANSACTION READ WRITE",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SET transaction_read_only = off",
        "COMMIT",
        "RESET ROLE; RESET SESSION AUTHORIZATION",
    )
    async with tenants.provision("writer", HEAD) as tenant:
        for attack in attacks:
            await run_sql(tenant.dsn, WRITES % attack)
            with pytest.raises(DatabaseError, match="read-only"):
                await tenants.read(tenant, {"attack": "SELECT attack()"})
        assert await fetch(tenant.dsn, "SELECT count(*) FROM checkpoints") == [(0,)]
        assert await supers(old_server) == []


async def test_a_template_with_a_large_object_is_refused_by_name(tenants: PostgresTenantProvisioner) -> None:
    with pytest.raises(DatabaseError, match="large object"):
        await tenants.prepare(Arm("base", "/checkout"), migration("SELECT lo_create(0)"))
