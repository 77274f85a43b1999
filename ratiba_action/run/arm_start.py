"""Starts the arms of a run: the base first, where there is one (``docs/decisions/0087``)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ratiba_action.errors import RatibaError
from ratiba_action.model.note import prefixed
from ratiba_action.model.plan import BASE, Arm
from ratiba_action.ports import TenantProvisioner
from ratiba_action.run.inputs import ArmInputs, RunLog
from ratiba_action.run.judges import Judges
from ratiba_action.run.model_calls import ModelCalls
from ratiba_action.run.services import NO_BASE, Arms, ArmServices

if TYPE_CHECKING:
    from ratiba_action.systems.replay_system import ReplaySystem
    from ratiba_action.systems.setup_command import SharedSetups
    from ratiba_action.systems.worker_system import WorkerSystem

Code = tuple["WorkerSystem | ReplaySystem", Judges | None, "WorkerSystem | None"]
"""An arm's system, what runs its rules and metrics, and what runs its tests; None where it has none of its own."""

OpenedBase = tuple[ArmInputs, Code] | RatibaError | OSError
"""The base with its code, or why that could not be opened or started."""

Result = TypeVar("Result")


@asynccontextmanager
async def begun(work: Coroutine[Any, Any, Result]) -> AsyncIterator["asyncio.Task[Result]"]:
    """Work that goes on beside what comes next; it is cancelled and waited for where nobody waits for it any more."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def start_all(
    system: "WorkerSystem | ReplaySystem", custom: Judges | None = None, tests: "WorkerSystem | None" = None
) -> None:
    """Start an arm's code, after the base's that judges it."""
    if custom is not None:
        await custom.start_theirs()
    await asyncio.gather(*(worker.start() for worker in (system, custom, tests) if worker is not None))


async def start_base(
    stack: AsyncExitStack, opened: OpenedBase, change: Code, *, idle_after: Sequence["asyncio.Future[Any]"]
) -> OpenedBase:
    """Start the base's code, and beside it the fork server of the change, where that runs no line of the change.

    Args:
        stack: ends what is started beside it, before the code of the change.
        opened: the base, its files copied, or why it could not be opened.
        change: its files copied, and nothing of it started.
        idle_after: what else starts now: until it has, the base has the processors. Empty where trials of the base may
            follow some of the change, so that nothing of that one starts before a plan names it.
    """
    if isinstance(opened, RatibaError | OSError):
        return opened
    if idle_after:
        await stack.enter_async_context(begun(_start_ahead(change[0], opened[1][0], idle_after)))
    return await caught(_started(*opened))


async def _started(arm: ArmInputs, code: Code) -> tuple[ArmInputs, Code]:
    await start_all(*code)
    return arm, code


async def copy_early(system: "WorkerSystem | ReplaySystem") -> None:
    """Copy an arm's files before the base runs, which may take minutes in which somebody edits those of the change."""
    from ratiba_action.systems.worker_system import WorkerSystem

    if isinstance(system, WorkerSystem):
        await system.copy()


async def watch_reads(system: "WorkerSystem | ReplaySystem", log: RunLog) -> None:
    """Note which files the change's system reads from now on; that nobody does changes no verdict."""
    from ratiba_action.systems.worker_system import WorkerSystem

    if isinstance(system, WorkerSystem):
        try:
            await system.watch_reads()
        except RatibaError as error:
            log.note(f"Which files the system reads could not be recorded: {error}")


async def caught(opening: Awaitable[tuple[ArmInputs, Code]]) -> OpenedBase:
    """What was opened, or why it could not be: no failure of the base ends the run."""
    try:
        return await opening
    except (RatibaError, OSError) as error:
        return error


def trace_lines(system: "WorkerSystem | ReplaySystem", files: tuple[str, ...]) -> None:
    """Note which lines of some files a system runs from now on, where the gate starts it."""
    from ratiba_action.systems.worker_system import WorkerSystem

    if files and isinstance(system, WorkerSystem):
        system.trace(on=True, files=files)


class OpenCode(Protocol):
    """Opens the code of an arm: its files are copied, and nothing of it is started."""

    async def __call__(self, stack: AsyncExitStack, arm: ArmInputs, *, beside: ArmServices | None = None) -> Code:
        """The code, which ends with the stack.

        Args:
            beside: the arm whose fork server serves it, where that can be.
        """
        ...


class ArmsOfRun(Arms):
    """Starts the arms of a run on a database and workers.

    Args:
        setups: what set-up made for all arms.
        no_base: why there is no base to run scenarios on.
    """

    def __init__(
        self,
        head: ArmInputs,
        open_code: OpenCode,
        calls: ModelCalls,
        *,
        tenants: TenantProvisioner,
        log: RunLog,
        setups: "SharedSetups",
        no_base: str = NO_BASE,
    ) -> None:
        super().__init__(no_base=no_base)
        self._head, self._open_code, self._calls = head, open_code, calls
        self._tenants, self._log, self._setups = tenants, log, setups

    async def add_started(self, code: Code) -> None:
        """Make the template of the change, whose code is started."""
        self._started[self._head.arm.name] = await self._ready(code)

    def start_later(self, base: OpenedBase, code: Code, *, watched: bool) -> None:
        """Start the base and the change when a plan names them.

        Args:
            base: opened, or why it could not be.
            code: of the change, not started.
            watched: trials of the base may follow some of the change.
        """
        self._waiting |= {
            BASE: partial(self._start_base, base, watched=watched),
            self._head.arm.name: partial(self._start_head, code),
        }

    async def _start_head(self, code: Code) -> ArmServices:
        await start_all(*code)
        return await self._ready(code)

    async def _ready(self, code: Code) -> ArmServices:
        """Make the template of the change, and note what a reader should know of both sides."""
        await self._tenants.prepare(self._head.arm, code[0].migrate)
        await watch_reads(code[0], self._log)
        trace_lines(code[0], self._head.traced)
        own, base = _warnings_of(*code), self.get(BASE)
        of_base = _warnings_of(base.system, base.custom, base.tests) if base is not None else ()
        apart = (prefixed("On the base: ", warning) for warning in of_base if warning not in own)
        for warning in (*own, *apart):
            self._log.note(warning)
        return arm_services(self._head, *code)

    async def _start_base(self, opened: OpenedBase, *, watched: bool) -> ArmServices:
        """Make the template of the base; no trial of it follows one of the change unless it is watched."""
        if isinstance(opened, RatibaError | OSError):
            raise opened
        arm, code = opened
        self._calls.add_arm(arm)
        await self._tenants.prepare(arm.arm, code[0].migrate)
        trace_lines(code[0], self._head.traced)
        if watched:
            from ratiba_action.systems.conditions import WatchedConditions
            from ratiba_action.systems.worker_system import WorkerSystem

            system, custom, tests = code
            workers = (system, *(custom.workers if custom is not None else ()), tests)
            self.conditions = WatchedConditions([worker for worker in workers if isinstance(worker, WorkerSystem)])
        return arm_services(arm, *code)

    def add(self, arm: ArmInputs) -> None:
        """See ``Arms``."""
        self._calls.add_arm(arm)
        first = self[self._head.arm.name]
        self._started[arm.arm.name] = replace(first, arm=arm.arm, template=self._head.arm)

    @asynccontextmanager
    async def open(self, arm: ArmInputs, template: Arm | None = None) -> AsyncIterator[None]:
        """See ``Arms``; it runs by the first one's fork server where it can."""
        async with AsyncExitStack() as stack:
            self._calls.add_arm(arm)
            code = await self._open_code(stack, arm, beside=self[self._head.arm.name])
            await start_all(*code)
            if template is None:
                await self._tenants.prepare(arm.arm, code[0].migrate)
            self._started[arm.arm.name] = replace(arm_services(arm, *code), template=template)
            stack.callback(self.remove, arm.arm.name)
            yield

    async def altered(self) -> str:
        """See ``Arms``."""
        return await self._setups.altered()


async def _start_ahead(
    system: "WorkerSystem | ReplaySystem",
    base: "WorkerSystem | ReplaySystem",
    idle_after: Sequence["asyncio.Future[Any]"],
) -> None:
    """Start the fork server of the change while the base starts and runs, where it runs no line of the change."""
    from ratiba_action.systems.worker_system import WorkerSystem

    if isinstance(system, WorkerSystem) and isinstance(base, WorkerSystem):
        await asyncio.wait(idle_after)  # whether that has failed is for others to say
        await system.start_ahead(base)


def _warnings_of(*code: object) -> tuple[str, ...]:
    """What the reader of a report should know about how code was run."""
    return tuple(dict.fromkeys(warning for each in code for warning in getattr(each, "warnings", ())))


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
