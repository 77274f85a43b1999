"""Makes a ``WorkerSystem`` from keywords, each one of what it is made of, and talks with it."""

import os
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.ports import Session
from ratiba_action.systems.setup_command import SharedSetups
from ratiba_action.systems.worker_system import WorkerAdapter, WorkerSystem
from ratiba_action.systems.workplace import Surroundings

TENANT = Tenant("7d0c", "test_tenant_spa_1a2b3c4d", "postgresql://role:pass%20phrase@localhost:5432/db")


def worker_system(
    root: Path,
    address: str = "assistant:Adapter",
    *,
    setups: SharedSetups | None = None,
    beside: WorkerSystem | None = None,
    **options: Any,
) -> WorkerSystem:
    """A worker of a folder, not started.

    Args:
        root: of the system.
        address: of the adapter.
        setups: see ``WorkerSystem``.
        beside: see ``WorkerSystem``.
        options: fields of ``WorkerAdapter``, ``Surroundings`` and the configuration's ``system``.
    """
    adapter = {each.name: options.pop(each.name) for each in fields(WorkerAdapter) if each.name in options}
    around = {each.name: options.pop(each.name) for each in fields(Surroundings) if each.name in options}
    block = SystemBlock(adapter="assistant:Adapter", **options)
    surroundings = Surroundings(root, **{"inherited": os.environ, **around})
    return WorkerSystem(WorkerAdapter(address, **adapter), block, surroundings, setups=setups, beside=beside)


async def open_session(system: WorkerSystem, scenario_id: str = "spa", **environment: str) -> Session:
    """A conversation of a scenario with this id and environment."""
    now = datetime(2026, 4, 25, 7, 0, tzinfo=UTC)
    scenario = Scenario(scenario_id, "sw", (), now, Customer("Wanjiku", "+254712345432"), vertical="spa")
    return await system.open(scenario, TENANT, environment)


async def answer_of(system: WorkerSystem, message: str = "?", **environment: str) -> str:
    """What the system says to a message in a new conversation."""
    session = await open_session(system, **environment)
    return (await session.send(Turn(user=message))).text
