"""In which order the arms of a run start, and what starts beside the base's trials."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from ratiba_action.config.configuration import Configuration
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import WorkerError
from ratiba_action.model.plan import BASE, HEAD, Arm
from ratiba_action.run.arm_start import ArmsOfRun
from ratiba_action.run.inputs import ArmInputs, RunLog
from ratiba_action.systems.setup_command import SharedSetups
from ratiba_action.systems.worker_system import WorkerAdapter, WorkerSystem
from ratiba_action.systems.workplace import Surroundings
from tests.support.progress import RecordedProgress

SYSTEM = SystemBlock(adapter="assistant:Adapter", database=False)


class Steps:
    """What has happened, in order; also the tenants and the systems that report it."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def prepare(self, arm: Arm, migrate: Callable[[str], Awaitable[None]]) -> None:  # noqa: ARG002 - the port's name
        self.happened.append(f"template of {arm.name}")


class ReportingSystem(WorkerSystem):
    """Starts nothing, and reports what it was asked for."""

    def __init__(self, name: str, steps: Steps) -> None:
        super().__init__(WorkerAdapter("assistant:Adapter"), SYSTEM, Surroundings(Path("/nowhere"), {}))
        self._name, self._steps = name, steps

    async def start_ahead(self, other: WorkerSystem) -> None:  # noqa: ARG002 - as above
        """Begin, and end when the test lets it."""
        self._steps.happened.append(f"{self._name} begins ahead")
        self._steps.begun.set()
        try:
            await self._steps.go_on.wait()
        except asyncio.CancelledError:
            self._steps.happened.append(f"{self._name} is cancelled")
            raise
        self._steps.happened.append(f"{self._name} is ready ahead")

    async def start(self) -> None:
        """Report it."""
        self._steps.happened.append(f"start of {self._name}")

    async def watch_reads(self) -> None:
        """Do nothing."""


def arm_inputs(name: str) -> ArmInputs:
    return ArmInputs(Arm(name, "/", None), Configuration(system=SYSTEM), ())


def arms_of(steps: Steps, *, watched: bool, failure: Exception | None = None) -> ArmsOfRun:
    """The arms of a run whose base is opened, or could not be for some reason; the change is not started."""
    arms = ArmsOfRun(
        arm_inputs(HEAD),
        cast("Any", None),
        cast("Any", None),
        tenants=cast("Any", steps),
        log=RunLog(RecordedProgress()),
        setups=SharedSetups(),
    )
    opened: Any = failure or (arm_inputs(BASE), (ReportingSystem(BASE, steps), None, None))
    arms.start_later(opened, (ReportingSystem(HEAD, steps), None, None), watched=watched)
    return arms


@pytest.fixture
def steps() -> Steps:
    return Steps()


async def test_in_a_replay_the_change_begins_ahead_once_the_base_has_its_template(steps: Steps) -> None:
    arms = arms_of(steps, watched=False)
    assert await arms.require({BASE}) is None
    await steps.begun.wait()
    steps.happened.append("trials of the base")
    assert await arms.require({HEAD}) is None
    await arms.close()
    assert steps.happened == [
        "template of base",
        "head begins ahead",
        "trials of the base",
        "start of head",
        "template of head",
        "head is cancelled",
    ]


async def test_where_trials_of_the_base_may_follow_the_change_it_does_not_begin_ahead(steps: Steps) -> None:
    arms = arms_of(steps, watched=True)
    assert await arms.require({BASE}) is None
    await asyncio.sleep(0)
    await arms.close()
    assert steps.happened == ["template of base"]


async def test_a_base_that_could_not_be_opened_is_reported_and_nothing_begins_ahead(steps: Steps) -> None:
    arms = arms_of(steps, watched=False, failure=WorkerError("its files are gone."))
    assert "its files are gone" in (await arms.require({BASE}) or "")
    await arms.close()
    assert steps.happened == []


async def test_a_run_that_ends_early_cancels_what_began_ahead(steps: Steps) -> None:
    arms = arms_of(steps, watched=False)
    await arms.require({BASE})
    await steps.begun.wait()
    await arms.close()
    assert steps.happened[-1] == "head is cancelled"
