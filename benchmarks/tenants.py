"""What a tenant costs: schema, role, clone and drop, one after another and several at once.

``python -m benchmarks.tenants [--database-url URL] [--tenants 50]``
"""

import argparse
import asyncio
import statistics
import time

from langgraph.checkpoint.postgres import PostgresSaver

from ratiba_action.model.plan import Arm
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from ratiba_action.tenancy.server import choose_server

TARGET_MILLISECONDS = 60
HEAD = Arm("head", "")


def migrate(dsn: str) -> None:
    """Create LangGraph's four tables."""
    with PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()


async def tenant(provisioner: PostgresTenantProvisioner, number: int) -> float:
    """Make and drop one tenant; returns milliseconds."""
    began = time.perf_counter()
    async with provisioner.provision(f"benchmark_{number}", HEAD):
        pass
    return (time.perf_counter() - began) * 1000


async def measure(database_url: str | None, tenants: int) -> None:
    """Print each figure."""
    provisioner = PostgresTenantProvisioner(choose_server(database_url), "benchmark")
    began = time.perf_counter()
    await provisioner.start()
    print(f"server ready, rights checked, swept: {(time.perf_counter() - began) * 1000:.0f} ms")
    try:
        began = time.perf_counter()
        await provisioner.prepare(HEAD, lambda dsn: asyncio.to_thread(migrate, dsn))
        print(f"template migrated, first clone compared: {(time.perf_counter() - began) * 1000:.0f} ms")
        times = [await tenant(provisioner, number) for number in range(tenants)]
        median = statistics.median(times)
        print(
            f"tenant, sequential: median {median:.1f} ms, worst {max(times):.1f} ms (target {TARGET_MILLISECONDS} ms)"
        )
        began = time.perf_counter()
        await asyncio.gather(*(tenant(provisioner, number) for number in range(tenants)))
        print(f"tenant, {tenants} at once: {(time.perf_counter() - began) * 1000 / tenants:.1f} ms each")
    finally:
        began = time.perf_counter()
        await provisioner.close()
        print(f"closed: {(time.perf_counter() - began) * 1000:.0f} ms")


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", default=None, help="a running server; default: an embedded one")
    parser.add_argument("--tenants", type=int, default=50)
    options = parser.parse_args()
    asyncio.run(measure(options.database_url, options.tenants))


if __name__ == "__main__":
    main()
