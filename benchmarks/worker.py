"""Time and CPU of 16 sessions opened at once, with and without a preloaded framework.

Run it with ``python -m benchmarks.worker [framework…]``; the default is ``langgraph.graph``.
"""

import asyncio
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.systems.worker_system import WorkerAdapter, WorkerSystem
from ratiba_action.systems.workplace import Surroundings

SESSIONS = 16
ADAPTER = """
{imports}
class Adapter:
    def open(self, context): return self
    def send(self, message): return {{"text": message}}
"""


async def measure(root: Path, preload: Sequence[str]) -> None:
    """Start, open all the sessions at once, take one turn in each, and close."""
    block = SystemBlock(adapter="assistant:Adapter", preload=list(preload))
    system = WorkerSystem(WorkerAdapter("assistant:Adapter"), block, Surroundings(root, os.environ))
    began, cpu = time.perf_counter(), _cpu_seconds()
    await system.start()
    started = time.perf_counter()
    tenant = Tenant("id", "schema", "postgresql://localhost/db")
    customer = Customer("Wanjiku", "+254712345432")
    scenarios = [Scenario(f"s{number}", "sw", (), datetime.now(UTC), customer) for number in range(SESSIONS)]
    sessions = await asyncio.gather(*(system.open(scenario, tenant, {}) for scenario in scenarios))
    await asyncio.gather(*(session.send(Turn(user="habari")) for session in sessions))
    answered = time.perf_counter()
    await asyncio.gather(*(session.close() for session in sessions))
    await system.close()
    print(
        f"{'preloaded' if preload else 'cold':>9}: start {started - began:.2f} s, "
        f"{SESSIONS} sessions to their first reply {answered - started:.2f} s, "
        f"all with closing {time.perf_counter() - began:.2f} s, CPU {_cpu_seconds() - cpu:.2f} s"
    )


def _cpu_seconds() -> float:
    """CPU of this process and of all its ended descendants, in seconds."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    """Measure both ways."""
    frameworks = sys.argv[1:] or ["langgraph.graph"]
    with tempfile.TemporaryDirectory() as folder:
        imports = "\n".join(f"import {framework}" for framework in frameworks)
        Path(folder, "assistant.py").write_text(ADAPTER.format(imports=imports), encoding="utf-8")
        for preload in ([], frameworks):
            asyncio.run(measure(Path(folder), preload))


if __name__ == "__main__":
    main()
