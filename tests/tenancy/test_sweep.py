"""What crashed runs leave is dropped by the next; what is alive, or somebody else's, stays."""

import asyncio
import contextlib
import operator
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ratiba_action.model.plan import Arm
from ratiba_action.tenancy.embedded import sweep
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from ratiba_action.tenancy.server import choose_server
from tests.support.eventually import eventually_async
from tests.support.sql import fetch, migration, run_sql, tenants_on

HEAD = Arm("head", "/checkout")
HOLDER = """
import asyncio, sys
from ratiba_action.model.plan import Arm
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from ratiba_action.tenancy.server import EmbeddedServer, choose_server
from tests.support.sql import migration
from pathlib import Path

async def main(url, scratch):
    server = choose_server(url or None, Path(scratch))
    tenants = PostgresTenantProvisioner(server, "doomed")
    await tenants.start()
    await tenants.prepare(Arm("head", "/"), migration("CREATE TABLE checkpoints (id int)"))
    async with tenants.provision("doomed", Arm("head", "/")) as tenant:
        print(tenant.schema, flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


def is_running(process: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


@contextlib.asynccontextmanager
async def holder(url: str, scratch: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Another process that holds a tenant; yields it and the tenant's name."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, url, str(scratch), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield process, (await process.stdout.readline()).decode().strip()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def test_the_next_run_drops_what_a_killed_run_left_and_keeps_a_live_neighbours(
    embedded_server_dsn: str, tmp_path: Path
) -> None:
    async with holder(embedded_server_dsn, tmp_path) as (process, doomed):
        neighbour = PostgresTenantProvisioner(choose_server(embedded_server_dsn), "neighbour")
        await neighbour.start()
        await neighbour.prepare(HEAD, migration("CREATE TABLE checkpoints (id int)"))
        async with neighbour.provision("alive", HEAD) as alive:
            assert {doomed, alive.schema} <= await tenants_on(embedded_server_dsn)
            process.kill()
            await process.wait()
            others = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' OFFSET 1"
            await eventually_async(lambda: fetch(embedded_server_dsn, others), until=operator.not_)
            after = PostgresTenantProvisioner(choose_server(embedded_server_dsn), "after")
            await after.start()
            left = await tenants_on(embedded_server_dsn)
            assert after.warnings == ()
            await after.close()
            assert {name.split("_")[0] for name in left} == {"test", "ratiba"}
            assert len(left) == 2
            assert alive.schema in left
            assert await fetch(alive.dsn, "SELECT count(*) FROM checkpoints") == [(0,)]
        await neighbour.close()
    assert await tenants_on(embedded_server_dsn) == set()


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name, and which the server's own user may enter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


def embedded_server_in(folder: Path) -> tuple[Path, int]:
    """The folder of the only embedded server there, and its process."""
    (found,) = folder.glob("ratiba-pg-*")
    return found, int((found / "data" / "postmaster.pid").read_text().split()[0])


async def test_a_killed_gate_takes_its_embedded_server_along_and_the_next_start_its_folder(short: Path) -> None:
    async with holder("", short) as (process, _):
        folder, server = embedded_server_in(short)
        assert sweep(short) == ()
        process.send_signal(signal.SIGKILL)
        await process.wait()
    assert sweep(short) == (folder,)
    assert not folder.exists()
    assert not is_running(server)


async def test_schemas_that_the_gate_did_not_make_stay_with_a_warning(embedded_server_dsn: str) -> None:
    await run_sql(embedded_server_dsn, "CREATE SCHEMA test_tenant_of_somebody; CREATE ROLE test_tenant_strange")
    tenants = PostgresTenantProvisioner(choose_server(embedded_server_dsn), "careful")
    try:
        await tenants.start()
        (warning,) = tenants.warnings
        assert "'test_tenant_of_somebody'" in warning
        assert "DROP SCHEMA" in warning
        left = await tenants_on(embedded_server_dsn)
        assert {"test_tenant_of_somebody", "test_tenant_strange"} <= left
    finally:
        await tenants.close()
        await run_sql(embedded_server_dsn, "DROP SCHEMA test_tenant_of_somebody; DROP ROLE test_tenant_strange")


async def test_another_databases_live_tenant_stays_though_its_lock_cannot_be_seen(embedded_server_dsn: str) -> None:
    await run_sql(embedded_server_dsn, "DROP DATABASE IF EXISTS elsewhere")
    await run_sql(embedded_server_dsn, "CREATE DATABASE elsewhere")
    here = PostgresTenantProvisioner(choose_server(embedded_server_dsn), "here")
    far = PostgresTenantProvisioner(choose_server(embedded_server_dsn.replace("/postgres?", "/elsewhere?")), "far")
    try:
        await far.start()
        await far.prepare(HEAD, migration("CREATE TABLE checkpoints (id int)"))
        async with far.provision("far", HEAD) as tenant:
            await here.start()
            assert tenant.schema in await tenants_on(embedded_server_dsn)
    finally:
        await far.close()
        await here.close()
        await run_sql(embedded_server_dsn, "DROP DATABASE elsewhere")


async def test_two_gates_on_one_database_do_not_disturb_each_other(embedded_server_dsn: str) -> None:
    async def gate(name: str) -> int:
        tenants = PostgresTenantProvisioner(choose_server(embedded_server_dsn), name)
        await tenants.start()
        try:
            await tenants.prepare(HEAD, migration(f"CREATE TABLE checkpoints (id text DEFAULT '{name}')"))
            for number in range(3):
                async with tenants.provision(f"scenario {number}", HEAD) as tenant:
                    await run_sql(tenant.dsn, "INSERT INTO checkpoints DEFAULT VALUES")
                    assert await fetch(tenant.dsn, "SELECT id FROM checkpoints") == [(name,)]
            return len(tenants.warnings)
        finally:
            await tenants.close()

    assert sum(await asyncio.gather(gate("one"), gate("two"))) == 0
    assert await tenants_on(embedded_server_dsn) == set()
