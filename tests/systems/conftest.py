"""A worker whose adapter is written by the test that uses it."""

import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.systems.worker_system import WorkerSystem
from tests.systems.workers import worker_system

StartWorker = Callable[..., Awaitable[WorkerSystem]]


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
