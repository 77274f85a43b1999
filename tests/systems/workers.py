"""Makes a ``WorkerSystem`` from keywords: each is one of what it is made of."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.systems.setup_command import SharedSetups
from ratiba_action.systems.worker_system import WorkerAdapter, WorkerSystem
from ratiba_action.systems.workplace import Surroundings


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
