"""What came of a run besides its results: cross-checks, money, what was left undone for want of it, recordings."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ratiba_action.errors import LedgerError
from ratiba_action.llm.recordings.lines import Recording
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult
from ratiba_action.model.note import note_of
from ratiba_action.model.verdict import CrossChecking, SharedSpending
from ratiba_action.money.forecast import Forecast, way_out, with_refused, without_paid
from ratiba_action.ports import TurnBooks
from ratiba_action.run.estimating import ArmCosts
from ratiba_action.run.grading import Grading
from ratiba_action.run.paid_run import PaidRun
from ratiba_action.run.workshop import Materials, Workshop
from ratiba_action.util.interruption import current
from ratiba_action.verdict.agreement import judges_agreement

if TYPE_CHECKING:
    from ratiba_action.llm.answers import RecordingAnswers


_PATIENCE = 1.5
"""Seconds that a cancelled run has to close what it has opened; a runner kills it 10 s after the first signal."""

_AGAIN = 0.5


@contextlib.contextmanager
def cancelled_by_signals(note: Callable[[str], None]) -> Iterator[None]:
    """Within, the first SIGINT or SIGTERM cancels the running task; what it then waits for is cut short after 1.5 s.

    Args:
        note: told which signal it was; a signal from before is one too.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    inside = [True]

    def cancel() -> None:
        if inside and task is not None:
            task.cancel()

    def hurry() -> None:
        cancel()
        if inside:
            loop.call_later(_AGAIN, hurry)

    def begin() -> None:
        cancel()
        loop.call_later(_PATIENCE, hurry)

    noted: list[str] = []

    def tell(name: str) -> None:
        # In a handler between two steps of the loop, which may be asleep.
        if not noted:
            note(f"the run was cancelled by {name}")
        loop.call_soon_threadsafe(cancel if noted else begin)
        noted.append(name)

    with current().noting(tell):
        try:
            yield
        finally:
            inside.clear()


_LEDGER_SECONDS = 3.0
"""A cancelled run waits no longer for the shared ledger: a runner kills it 10 seconds after it was told to end."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What is known when every conversation has ended.

    Args:
        way_out: see ``Evidence``.
        recorded: new lines of each scenario, by its id; empty unless the run records.
        reported_calls: how many model calls the system reported in its replies that the gateway did not see.
        altered: a path of what set-up made for all sides of the run that the system changed; empty where it did not.
    """

    cross_checking: CrossChecking | None = None
    shared_spending: tuple[SharedSpending, ...] = ()
    way_out: str = ""
    recorded: Mapping[str, tuple[Recording, ...]] = field(default_factory=dict)
    reported_calls: int = 0
    altered: str = ""


class Conclude(Protocol):
    """Called once, when every conversation has ended."""

    async def __call__(self, results: Sequence[ScenarioResult], *, cancelled: bool) -> Aftermath:
        """What came of the run; one that was cancelled waits for no second judge."""
        ...


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Implements ``Conclude``: waits for the cross-checks and gathers the rest."""

    workshop: Workshop
    materials: Materials
    costs: ArmCosts
    paid: PaidRun | None
    grading: Grading
    collected: "RecordingAnswers | None"
    turns: TurnBooks

    async def __call__(self, results: Sequence[ScenarioResult], *, cancelled: bool) -> Aftermath:
        """What came of a run; nothing besides its results for one that pays nobody."""
        if self.paid is None:
            return Aftermath(reported_calls=self.turns.reported_calls)
        checked = self.grading.cross_check
        await checked.finish(self._seconds(cancelled=cancelled))
        for note in checked.notes:
            self.workshop.warn(note)
        checking = CrossChecking(
            self.grading.second_model, checked.status, judges_agreement(checked.pairs), self._off()
        )
        try:
            async with asyncio.timeout(_LEDGER_SECONDS if cancelled else None):
                shared, left_undone = await self.paid.shared_spending(), await self._way_out(self.paid, results)
        except (LedgerError, TimeoutError) as error:
            late = "The shared ledger did not answer in time."
            self.workshop.warn(note_of(error) if isinstance(error, LedgerError) else late)
            shared, left_undone = (), ""
        return Aftermath(checking, shared, left_undone, self._recorded(), self.turns.reported_calls)

    def _seconds(self, *, cancelled: bool) -> float | None:
        """How long cross-checks are waited for."""
        deadline = self.workshop.deadline
        if cancelled:
            return 0.0
        return None if deadline is None else max(deadline - time.monotonic(), 0.0)

    async def _way_out(self, paid: PaidRun, results: Sequence[ScenarioResult]) -> str:
        """What to do about the trials that were not run to their end for want of money."""
        refused = [result.trial for result in results if paid.admissions.was_refused(result.trial)]
        ledger = self.workshop.ledger
        # A model without a price ends a trial too, and no budget would have held it.
        broken = [
            one.trial
            for one in results
            if isinstance(one, Errored)
            and one.phase is Phase.BUDGET
            and ledger.refused_on(one.trial.scenario.id) is not None
        ]
        if not refused and not broken:
            return ""
        expected = self.costs.expected
        undone = without_paid(expected(broken), ledger.calls)
        rest = (*expected(refused), *(with_refused(one, ledger.refused_on(one.scenario_id)) for one in undone))
        return way_out(Forecast(await paid.admissions.limits(), rest))

    def _off(self) -> str:
        """Why nothing was cross-checked."""
        described, payment = self.workshop.configuration.judge.cross_check, self.workshop.payment
        if self.grading.second_model:
            return ""
        if described is None or not described.share:
            return "the configuration has none"
        if self.workshop.llm == "record":
            return "a recorded score is judged once"
        return f"no key for {described.provider}" if payment and described.provider not in payment.keys else ""

    def _recorded(self) -> dict[str, tuple[Recording, ...]]:
        if self.collected is None:
            return {}
        grades = self.grading.collector.recordings()
        recorded: dict[str, tuple[Recording, ...]] = {}
        for scenario in self.materials.scenarios:
            trials = [self.collected.recordings(scenario.id, number) for number in range(scenario.strategy.trials)]
            answers = (line for lines in trials for line in lines)
            recorded[scenario.id] = (*answers, *grades.get(scenario.id, ()))
        return recorded
