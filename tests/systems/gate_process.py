"""A gate reduced to its secrets: holds them, runs one turn of an adapter that looks for them, prints what it found."""

import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.settings.environment import protect_process
from ratiba_action.systems.worker_system import WorkerAdapter, WorkerSystem
from ratiba_action.systems.workplace import Surroundings
from ratiba_action.worker import kernel


async def look(root: Path, python: str, secrets: Path) -> dict[str, object]:
    # The gate's block needs pydantic, which the interpreter that another user can run may lack.
    block: Any = SimpleNamespace(
        root=".",
        python=python,
        setup=None,
        preload=[],
        turn_timeout_seconds=60.0,
        environment={"LOOK": str(secrets)},
        price_per_turn_usd=None,
        runs_elsewhere=False,
    )
    system = WorkerSystem(WorkerAdapter("burglar:Adapter"), block, Surroundings(root, os.environ))
    try:
        await system.start()
        scenario = Scenario("spa", "sw", (), datetime.now(UTC), Customer("Wanjiku", "+254712345432"))
        tenant = Tenant("id", "test_tenant_spa", "postgresql://localhost/db")
        session = await system.open(scenario, tenant, {"ANTHROPIC_API_KEY": "scenario-token"})
        reply = await session.send(Turn(user="look"))
        await session.close()
        return {**json.loads(reply.text), "warnings": system.warnings, "gate": os.getpid(), "gate_uid": os.getuid()}
    finally:
        await system.close()


def main() -> None:
    if os.environ.get("DROP") == "1":  # root of a container that was started without capabilities
        kernel.drop_bounding_set()
        kernel.drop_capabilities()
    protected = protect_process()
    root, python, secrets = sys.argv[1:]
    # Inheritable on purpose: only the worker's launch keeps it from the worker.
    descriptor = os.open(Path(secrets, "kept.txt"), os.O_RDONLY)
    os.set_inheritable(descriptor, True)  # noqa: FBT003 - its only form
    os.environ["GITHUB_TOKEN"] = os.environ["ANTHROPIC_API_KEY"].replace("PLANTED", "PLANTED_LATER")
    found = asyncio.run(look(Path(root), python, Path(secrets)))
    sys.stdout.write(json.dumps({**found, "protected": protected}))


if __name__ == "__main__":
    main()
