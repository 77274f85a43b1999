"""One open run: what its trials need, its deadline, and the signals that cut it short, whoever opens it."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Protocol, Self

from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import Plan
from ratiba_action.money.budget import Ledger
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.plan_loop import cancelled_by_signals
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import Measured, RunServices
from ratiba_action.util.interruption import current


class OpenServices(Protocol):
    """Starts what trials need, and ends it on every way out: ``composition.open_services``, or a test's fakes."""

    def __call__(
        self,
        inputs: RunInputs,
        head: ArmInputs,
        *,
        ledger: Ledger,
        log: RunLog,
        scratch: Path,
        deadline: float | None = None,
        with_base: bool = False,
    ) -> AbstractAsyncContextManager[RunServices]:
        """The services are there within the context; see ``RunSession``, and ``RunServices`` for the deadline."""
        ...


class OpenSession(Protocol):
    """Makes the session of a run: ``composition.open_session``, or one on a test's fakes."""

    def __call__(
        self,
        inputs: RunInputs,
        head: ArmInputs,
        *,
        ledger: Ledger,
        log: RunLog,
        scratch: Path,
        with_base: bool = False,
        interruptions: list[str] | None = None,
    ) -> "RunSession":
        """The session, not open; for the arguments see ``RunSession``."""
        ...


class RunSession:
    """One run: ``async with`` starts what its trials need, and ends it on every way out.

    Its time begins when it is made.

    Args:
        scratch: a folder outside the workspace, removed when the run ends.
        with_base: trials of the base may run, if there is one.
        interruptions: filled with why the run was cancelled; None for a list of its own.
    """

    def __init__(
        self,
        open_services: OpenServices,
        inputs: RunInputs,
        head: ArmInputs,
        *,
        ledger: Ledger,
        log: RunLog,
        scratch: Path,
        with_base: bool = False,
        interruptions: list[str] | None = None,
    ) -> None:
        seconds = inputs.seconds_allowed
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.interruptions = [] if interruptions is None else interruptions
        self.ended_late = False
        self._opened = open_services(
            inputs, head, ledger=ledger, log=log, scratch=scratch, deadline=self.deadline, with_base=with_base
        )
        self._services: RunServices | None = None

    @property
    def services(self) -> RunServices:
        """What trials need.

        Raises:
            RuntimeError: the session is not open.
        """
        if self._services is None:
            raise RuntimeError("the session is not open")
        return self._services

    @property
    def cancelled(self) -> bool:
        """Whether a signal has come."""
        return bool(self.interruptions) or current().name is not None

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    async def __aenter__(self) -> Self:
        self._services = await self._opened.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> bool | None:
        return await self._opened.__aexit__(*raised)  # type: ignore[arg-type]

    def conduct(self, work: Callable[["RunSession"], Awaitable[None]]) -> None:
        """Open the run in an event loop of its own, and do some work in it.

        A signal ends what is waited for and loses nothing that the work has noted; a further one does so again.
        """
        asyncio.run(self._conduct(work))

    async def _conduct(self, work: Callable[["RunSession"], Awaitable[None]]) -> None:
        with self.cancelled_by_signals(), contextlib.suppress(asyncio.CancelledError):
            async with self:
                await work(self)
        self.ended_late = self.late

    def cancelled_by_signals(self) -> AbstractContextManager[None]:
        """Within, a signal cancels the running task; see ``plan_loop``."""
        return cancelled_by_signals(self.interruptions.append)

    async def run(self, plan: Plan) -> Sequence[ScenarioResult]:
        """Run every trial of a plan; see ``run_plan``."""
        return await run_plan(plan, self.services)

    async def finish(self, measured: Measured) -> Measured:
        """What came of the run, once every trial has ended; one that was cancelled waits for no second judge."""
        return await self.services.calls.finish(measured, cancelled=self.cancelled)
