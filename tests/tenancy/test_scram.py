"""The gate logs in as a tenant with keys that it worked out once, and with the password where the keys are old."""

import psycopg
import pytest

from ratiba_action.errors import DatabaseError
from ratiba_action.model.plan import Arm
from ratiba_action.tenancy.connections import connected_as_tenant
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from ratiba_action.tenancy.scram import scram_keys
from tests.support.sql import fetch, migration, run_sql

HEAD = Arm("head", "/checkout")


@pytest.mark.skipif(psycopg.pq.version() < 180000, reason="libpq before version 18 is given no keys")
async def test_keys_log_in_where_the_server_keeps_their_verifier(
    provisioner: PostgresTenantProvisioner, embedded_server_dsn: str
) -> None:
    await provisioner.prepare(HEAD, migration("SELECT"))
    keys = scram_keys("another password")
    async with provisioner.provision("keys", HEAD) as tenant:
        with pytest.raises(psycopg.OperationalError, match="password"):
            await fetch(tenant.dsn.replace("@", "0@", 1), "SELECT 1")
        await run_sql(embedded_server_dsn, f"ALTER ROLE {tenant.schema} PASSWORD '{keys.verifier}'")
        with pytest.raises(DatabaseError, match="password authentication failed"):
            await provisioner.read(tenant, {"one": "SELECT 1 AS one"})
        async with connected_as_tenant(tenant.dsn, 30, keys=keys) as connection:
            assert await (await connection.execute("SELECT current_user::text")).fetchone() == (tenant.schema,)


async def test_a_role_that_sets_its_password_again_is_still_read(provisioner: PostgresTenantProvisioner) -> None:
    await provisioner.prepare(HEAD, migration("SELECT"))
    async with provisioner.provision("again", HEAD) as tenant:
        password = psycopg.conninfo.conninfo_to_dict(tenant.dsn)["password"]
        await run_sql(tenant.dsn, f"ALTER ROLE CURRENT_USER PASSWORD '{password}'")
        assert await provisioner.read(tenant, {"one": "SELECT 1 AS one"}) == {"one": ({"one": 1},)}


def test_keys_do_not_show_in_a_traceback() -> None:
    keys = scram_keys("secret")
    assert keys.client not in repr(keys)
    assert keys != scram_keys("secret")
