"""The contract of ``TenantProvisioner``, held by the fake and by PostgreSQL alike."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ratiba_action.errors import DatabaseError
from ratiba_action.model.plan import Arm
from ratiba_action.ports import TenantProvisioner
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from ratiba_action.tenancy.server import choose_server
from tests.support.tenants import InMemoryTenants

HEAD = Arm("head", "/checkout")
BASE = Arm("base", "/checkout")


@pytest.fixture(params=["in memory", "on PostgreSQL"])
async def provisioner(request: pytest.FixtureRequest, embedded_server_dsn: str) -> AsyncIterator[TenantProvisioner]:
    tenants: TenantProvisioner = (
        InMemoryTenants({"one": ({"n": 1},)})
        if request.param == "in memory"
        else PostgresTenantProvisioner(choose_server(embedded_server_dsn), "conformance")
    )
    await tenants.start()
    yield tenants
    await tenants.close()


async def _migrate(dsn: str) -> None:
    assert dsn.startswith("postgresql://")


async def test_a_tenant_has_a_schema_a_role_and_an_identity_of_its_own(provisioner: TenantProvisioner) -> None:
    await provisioner.prepare(HEAD, _migrate)
    async with provisioner.provision("booking", HEAD) as first, provisioner.provision("booking", HEAD, 1) as second:
        assert first.schema.startswith("test_tenant_")
        assert first.schema in first.dsn
        assert len({first.schema, second.schema}) == len({first.id, second.id}) == 2


async def test_migrations_run_once_per_arm(provisioner: TenantProvisioner) -> None:
    seen: list[str] = []

    async def migrate(dsn: str) -> None:
        seen.append(dsn)

    for arm in (HEAD, HEAD, BASE):
        await provisioner.prepare(arm, migrate)
    assert len(seen) == len(set(seen)) == 2


async def test_an_arm_that_was_not_prepared_is_refused(provisioner: TenantProvisioner) -> None:
    with pytest.raises(DatabaseError, match="'base'"):
        async with provisioner.provision("booking", BASE):
            pass


async def test_rows_are_read_by_name(provisioner: TenantProvisioner) -> None:
    await provisioner.prepare(HEAD, _migrate)
    async with provisioner.provision("booking", HEAD) as tenant:
        assert await provisioner.read(tenant, {"one": "SELECT 1 AS n"}) == {"one": ({"n": 1},)}


async def test_a_tenant_that_was_dropped_cannot_be_read(provisioner: TenantProvisioner) -> None:
    await provisioner.prepare(HEAD, _migrate)
    async with provisioner.provision("booking", HEAD) as tenant:
        pass
    with pytest.raises(DatabaseError, match=tenant.schema):
        await provisioner.read(tenant, {"one": "SELECT 1 AS n"})


async def test_an_exception_inside_a_tenant_drops_it_and_passes(provisioner: TenantProvisioner) -> None:
    await provisioner.prepare(HEAD, _migrate)
    with pytest.raises(ZeroDivisionError):
        async with provisioner.provision("booking", HEAD) as tenant:
            _ = 1 // 0
    with pytest.raises(DatabaseError):
        await provisioner.read(tenant, {"one": "SELECT 1 AS n"})


async def test_many_tenants_live_at_once(provisioner: TenantProvisioner) -> None:
    await provisioner.prepare(HEAD, _migrate)

    async def one(number: int) -> str:
        async with provisioner.provision(f"scenario {number}", HEAD) as tenant:
            await provisioner.read(tenant, {"one": "SELECT 1 AS n"})
            return tenant.schema

    assert len(set(await asyncio.gather(*(one(number) for number in range(6))))) == 6


async def test_close_may_be_called_twice(provisioner: TenantProvisioner) -> None:
    await provisioner.close()
    await provisioner.close()
    with pytest.raises(DatabaseError):
        async with provisioner.provision("booking", HEAD):
            pass
