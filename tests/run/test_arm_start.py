"""In which order the arms of a run start, and what starts beside the base's trials."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from ratiba_action.config.configuration import Configuration
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import ConfigurationError, WorkerError
from ratiba_action.model.plan import BASE, HEAD, Arm
from ratiba_action.run.arm_start import ArmsOfRun, Code, OpenedBase, start_base
from ratiba_action.run.inputs import ArmInputs, RunLog
from ratiba_action.systems.setup_command import SharedSetups
from ratiba_action.systems.worker_system import WorkerAdapter, WorkerSystem
from ratiba_action.systems.workplace import Surroundings
from tests.support.progress import RecordedProgress

SYSTEM = SystemBlock(adapter="assistant:Adapter", database=False)


class Steps:
    """What has happened, in order; also the tenants, the model calls and the systems that report it.

    Args:
        unpriced: why the base's models cannot be called; empty where they can.
    """

    def __init__(self, unpriced: str = "") -> None:
        self.happened: list[str] = []
        self.starting, self.begun = asyncio.Event(), asyncio.Event()
        self._unpriced = unpriced

    def add_arm(self, arm: ArmInputs) -> None:
        if self._unpriced:
            raise ConfigurationError(self._unpriced)
        self.happened.append(f"models of {arm.arm.name}")

    async def prepare(self, arm: Arm, migrate: Callable[[str], Awaitable[None]]) -> None:  # noqa: ARG002 - the port's name
        self.happened.append(f"template of {arm.name}")


class ReportingSystem(WorkerSystem):
    """Starts nothing, and reports what it was asked for.

    Args:
        ready: its start ends with it; what it raises is how the start fails.
    """

    def __init__(self, name: str, steps: Steps, ready: "asyncio.Future[None] | None" = None) -> None:
        super().__init__(WorkerAdapter("assistant:Adapter"), SYSTEM, Surroundings(Path("/nowhere"), {}))
        self._name, self._steps, self._ready = name, steps, ready

    async def start_ahead(self, other: WorkerSystem) -> None:  # noqa: ARG002 - as above
        """Begin, and go on until it is cancelled."""
        self._steps.happened.append(f"{self._name} begins ahead")
        self._steps.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self._steps.happened.append(f"{self._name} is cancelled")

    async def start(self) -> None:
        """Report it, and end when the test lets it."""
        self._steps.happened.append(f"start of {self._name}")
        self._steps.starting.set()
        if self._ready is not None:
            await self._ready

    async def watch_reads(self) -> None:
        """Do nothing."""


def arm_inputs(name: str) -> ArmInputs:
    return ArmInputs(Arm(name, "/", None), Configuration(system=SYSTEM), ())


def arms_of(steps: Steps, *, failure: Exception | None = None) -> ArmsOfRun:
    """The arms of a run whose base is started, or could not be for some reason; the change is not started."""
    arms = ArmsOfRun(
        arm_inputs(HEAD),
        cast("Any", None),
        cast("Any", steps),
        tenants=cast("Any", steps),
        log=RunLog(RecordedProgress()),
        setups=SharedSetups(),
    )
    opened: Any = failure or (arm_inputs(BASE), code_of(BASE, steps))
    arms.start_later(opened, code_of(HEAD, steps), watched=False)
    return arms


def code_of(name: str, steps: Steps, ready: "asyncio.Future[None] | None" = None) -> Code:
    return ReportingSystem(name, steps, ready), None, None


@pytest.fixture
def steps() -> Steps:
    return Steps()


async def test_the_template_of_the_base_comes_before_anything_of_the_change(steps: Steps) -> None:
    arms = arms_of(steps)
    assert await arms.require({BASE}) is None
    assert await arms.require({HEAD}) is None
    assert steps.happened == ["models of base", "template of base", "start of head", "template of head"]


async def test_a_base_that_could_not_be_opened_is_reported(steps: Steps) -> None:
    arms = arms_of(steps, failure=WorkerError("its files are gone."))
    assert "its files are gone" in (await arms.require({BASE}) or "")
    assert steps.happened == []


async def test_a_base_whose_models_have_no_price_is_reported() -> None:
    steps = Steps("model 'm' has no price.")
    assert "model 'm' has no price" in (await arms_of(steps).require({BASE}) or "")
    assert steps.happened == []


class Starting:
    """A base that starts, beside a change whose files are copied, until the test ends."""

    def __init__(self, stack: AsyncExitStack, steps: Steps, *, watched: bool = False) -> None:
        loop = asyncio.get_running_loop()
        self.base_ready: asyncio.Future[None] = loop.create_future()
        self.rest_ready: asyncio.Future[None] = loop.create_future()
        rest = asyncio.ensure_future(self.rest_ready)
        opened = arm_inputs(BASE), code_of(BASE, steps, self.base_ready)
        self.base: asyncio.Task[OpenedBase] = asyncio.create_task(
            start_base(stack, opened, code_of(HEAD, steps), idle_after=[] if watched else [rest])
        )


async def test_in_a_replay_the_change_begins_while_the_base_still_starts(steps: Steps) -> None:
    async with AsyncExitStack() as stack:
        starting = Starting(stack, steps)
        await steps.starting.wait()
        starting.rest_ready.set_result(None)
        await steps.begun.wait()
        assert steps.happened == ["start of base", "head begins ahead"]
        starting.base_ready.set_result(None)
        assert isinstance(await starting.base, tuple)
    assert steps.happened == ["start of base", "head begins ahead", "head is cancelled"]


async def test_the_change_does_not_begin_before_the_database_and_what_judges_are_ready(steps: Steps) -> None:
    async with AsyncExitStack() as stack:
        starting = Starting(stack, steps)
        starting.base_ready.set_result(None)
        await starting.base
        assert steps.happened == ["start of base"]
        starting.rest_ready.set_exception(WorkerError("the server is gone."))
        await steps.begun.wait()


async def test_where_trials_of_the_base_may_follow_the_change_it_does_not_begin_ahead(steps: Steps) -> None:
    async with AsyncExitStack() as stack:
        starting = Starting(stack, steps, watched=True)
        starting.rest_ready.set_result(None)
        starting.base_ready.set_result(None)
        await starting.base
    assert steps.happened == ["start of base"]


async def test_a_base_that_cannot_be_started_is_given_back_as_the_reason(steps: Steps) -> None:
    async with AsyncExitStack() as stack:
        starting = Starting(stack, steps)
        starting.rest_ready.set_result(None)
        await steps.begun.wait()
        problem = WorkerError("its interpreter is gone.")
        starting.base_ready.set_exception(problem)
        assert await starting.base is problem


async def test_beside_a_base_that_could_not_be_opened_nothing_begins(steps: Steps) -> None:
    problem = WorkerError("its files are gone.")
    async with AsyncExitStack() as stack:
        rest = asyncio.create_task(asyncio.Event().wait())
        assert await start_base(stack, problem, code_of(HEAD, steps), idle_after=[rest]) is problem
        rest.cancel()
    assert steps.happened == []
