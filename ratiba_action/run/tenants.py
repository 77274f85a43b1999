"""The tenants of a run: on a given server, or on one that is started for it."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ratiba_action.ports import TenantProvisioner
from ratiba_action.run.inputs import RunInputs, RunLog


@asynccontextmanager
async def open_tenants(inputs: RunInputs, log: RunLog) -> AsyncIterator[TenantProvisioner]:
    """Tenants on the given server, or on one that is started for the run; none for a system without a database."""
    if not inputs.configuration.system.has_database:
        from ratiba_action.tenancy.no_database import NoDatabase

        yield NoDatabase()
        return
    from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner  # loads psycopg
    from ratiba_action.tenancy.server import DatabaseServer, KeptServer, choose_server

    kept = inputs.kept.database if inputs.kept is not None and not inputs.settings.database_url else ""
    server: DatabaseServer = KeptServer(kept) if kept else choose_server(inputs.settings.database_url or None)
    provisioner = PostgresTenantProvisioner(server, run_id=secrets.token_hex(8))
    try:
        await provisioner.start()
        yield provisioner
    finally:
        await provisioner.close()
        for warning in provisioner.warnings:
            log.note(warning)
