"""A worker whose adapter is written by the test that uses it."""

import tempfile
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario
from ratiba_action.ports import Session
from ratiba_action.systems.worker_system import WorkerSystem
from tests.systems.workers import worker_system

StartWorker = Callable[..., Awaitable[WorkerSystem]]
OpenSession = Callable[..., Awaitable[Session]]


@pytest.fixture
def tenant() -> Tenant:
    return Tenant("7d0c", "test_tenant_spa_1a2b3c4d", "postgresql://role:pass%20phrase@localhost:5432/db")


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder that every user can enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture
async def start_worker(tmp_path: Path) -> AsyncIterator[StartWorker]:
    """Starts a worker with the given adapter; closed when the test ends."""
    systems: list[WorkerSystem] = []

    async def start(source: str, **options: Any) -> WorkerSystem:
        root = tmp_path / "system"
        root.mkdir(exist_ok=True)
        (root / "assistant.py").write_text(textwrap.dedent(source), encoding="utf-8")
        system = worker_system(root, **options)
        systems.append(system)
        await system.start()
        return system

    yield start
    for system in systems:
        await system.close()


@pytest.fixture
def open_session(tenant: Tenant) -> OpenSession:
    """Opens a session of a scenario with the given id and environment."""

    async def open_session(system: WorkerSystem, scenario_id: str = "spa", **environment: str) -> Session:
        now = datetime(2026, 4, 25, 7, 0, tzinfo=UTC)
        scenario = Scenario(scenario_id, "sw", (), now, Customer("Wanjiku", "+254712345432"), vertical="spa")
        return await system.open(scenario, tenant, environment)

    return open_session
