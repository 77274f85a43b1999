from collections.abc import AsyncIterator

import pytest

from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from ratiba_action.tenancy.server import choose_server


@pytest.fixture
async def provisioner(embedded_server_dsn: str) -> AsyncIterator[PostgresTenantProvisioner]:
    """A started provisioner without any template."""
    tenants = PostgresTenantProvisioner(choose_server(embedded_server_dsn), "test")
    await tenants.start()
    yield tenants
    await tenants.close()
    assert tenants.warnings == ()
