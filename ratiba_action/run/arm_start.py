"""Starts the arms of a run: the base first, where there is one (``docs/decisions/0087``)."""

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from ratiba_action.errors import RatibaError
from ratiba_action.model.note import prefixed
from ratiba_action.model.plan import BASE
from ratiba_action.run.inputs import ArmInputs
from ratiba_action.run.judges import Judges
from ratiba_action.run.services import ArmServices, RunServices

if TYPE_CHECKING:
    from ratiba_action.systems.replay_system import ReplaySystem
    from ratiba_action.systems.worker_system import WorkerSystem

Code = tuple["WorkerSystem | ReplaySystem", Judges | None, "WorkerSystem | None"]
"""An arm's system, what runs its rules and metrics, and what runs its tests; None where it has none of its own."""

OpenedBase = tuple[ArmInputs, Code] | RatibaError | OSError
"""The base with its code started, or why that could not be."""


async def start_all(
    system: "WorkerSystem | ReplaySystem", custom: Judges | None = None, tests: "WorkerSystem | None" = None
) -> None:
    """Start an arm's code, after the base's that judges it."""
    if custom is not None:
        await custom.start_theirs()
    await asyncio.gather(*(worker.start() for worker in (system, custom, tests) if worker is not None))


async def copy_early(system: "WorkerSystem | ReplaySystem") -> None:
    """Copy the change's files before the base runs, which may take minutes in which somebody edits them."""
    from ratiba_action.systems.worker_system import WorkerSystem  # noqa: PLC0415 - not needed to decide

    if isinstance(system, WorkerSystem):
        await system.copy()


async def start_head(services: RunServices, head: ArmInputs, code: Code) -> ArmServices:
    """Start the change's code and make its template."""
    await start_all(*code)
    return await make_ready(services, head, code)


async def make_ready(services: RunServices, head: ArmInputs, code: Code) -> ArmServices:
    """Make the template of the change, whose code is started, and note what a reader should know of both sides."""
    await services.tenants.prepare(head.arm, code[0].migrate)
    own, base = _warnings_of(*code), services.arms.get(BASE)
    of_base = _warnings_of(base.system, base.custom, base.tests) if base is not None else ()
    apart = (prefixed("On the base: ", warning) for warning in of_base if warning not in own)
    for warning in (*own, *apart):
        services.log.note(warning)
    return arm_services(head, *code)


def _warnings_of(*code: object) -> tuple[str, ...]:
    """What the reader of a report should know about how code was run."""
    return tuple(dict.fromkeys(warning for each in code for warning in getattr(each, "warnings", ())))


async def caught(opening: Awaitable[tuple[ArmInputs, Code]]) -> OpenedBase:
    """What was opened, or why it could not be: no failure of the base ends the run."""
    try:
        return await opening
    except (RatibaError, OSError) as error:
        return error


async def start_base(services: RunServices, opened: OpenedBase, *, watched: bool) -> ArmServices:
    """Make the template of the base.

    Args:
        services: of the run.
        opened: the base, or why it could not be opened.
        watched: trials of it may follow some of the change.

    Raises:
        RatibaError: it could not be opened, or its template not be made.
        OSError: the same.
    """
    if isinstance(opened, RatibaError | OSError):
        raise opened
    arm, code = opened
    await services.tenants.prepare(arm.arm, code[0].migrate)
    if watched:
        from ratiba_action.systems.conditions import WatchedConditions  # noqa: PLC0415 - not needed to decide
        from ratiba_action.systems.worker_system import WorkerSystem  # noqa: PLC0415 - the same

        system, custom, tests = code
        workers = (system, *(custom.workers if custom is not None else ()), tests)
        services.conditions = WatchedConditions([worker for worker in workers if isinstance(worker, WorkerSystem)])
    return arm_services(arm, *code)


def arm_services(
    arm: ArmInputs,
    system: "WorkerSystem | ReplaySystem",
    custom: Judges | None,
    tests: "WorkerSystem | None",
) -> ArmServices:
    """What runs the trials of an arm, whose code is started."""
    block = arm.configuration.system
    return ArmServices(
        arm.arm,
        system,
        custom,
        arm.configuration.rows,
        arm.prompt_versions,
        declared_usd=block.price_per_turn_usd,
        captured=block.replay is not None,
        prompt_blobs=arm.prompt_blobs,
        tests=tests,
    )
