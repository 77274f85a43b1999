"""The only loop of a run: run a plan, decide what its evidence means, run the plan that this asks for."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ratiba_action.model.measurement import NotRun, ScenarioResult, Scored
from ratiba_action.model.plan import BASE, Plan, Trial
from ratiba_action.model.verdict import Verdict
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import Measured, RunServices
from ratiba_action.util.interruption import current
from ratiba_action.verdict.blocks import in_blocks
from ratiba_action.verdict.pairing import results_of

_PATIENCE = 1.5
"""Seconds that a cancelled run has to close what it has opened; a runner kills it 10 s after the first signal."""

_AGAIN = 0.5
_WAVES = 2
"""Pairs of a block for each conversation that runs at once: fewer would leave conversations waiting for the slowest."""

_CANCELLED = "the run was cancelled"


@contextlib.contextmanager
def cancelled_by_signals(note: Callable[[str], None]) -> Iterator[None]:
    """Within, the first SIGINT or SIGTERM cancels the running task; what it then waits for is cut short after 1.5 s.

    Args:
        note: called with which signal it was; a signal from before is one too.
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

    def note_signal(name: str) -> None:
        # In a handler between two steps of the loop, which may be asleep.
        if not noted:
            note(f"the run was cancelled by {name}")
        loop.call_soon_threadsafe(cancel if noted else begin)
        noted.append(name)

    with current().noting(note_signal):
        try:
            yield
        finally:
            inside.clear()


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a plan.

    Args:
        results: in the order in which they ran, or the plan's.
        refusal: why it ran only so far, or not at all; None where it ran to its end.
    """

    results: tuple[ScenarioResult, ...]
    refusal: str | None = None


async def run_first(plan: Plan, services: RunServices) -> Ran:
    """Run a plan as far as the money goes; nothing of it where the base cannot be started."""
    refusal = await services.arms.require({trial.arm.name for trial in plan.trials})
    return Ran((), refusal) if refusal else Ran(await run_plan(_placed(plan, services), services))


async def run_further(plan: Plan, services: RunServices) -> Ran:
    """Run the whole of a further plan, or nothing: half of a confirmation confirms nothing.

    Base and head run by turns (``verdict.blocks``), the base first, and never while a trial of the change does: before
    each part of the base, what its trials depend on is compared with what it was. What is begun may still be cut short,
    by the deadline, a signal, or a cap that another run has used up.
    """
    refusal = await services.arms.require({trial.arm.name for trial in plan.trials})
    placed = plan if refusal else _placed(plan, services)
    refusal = refusal or await services.calls.afford(placed.trials)
    if refusal:
        return Ran((), refusal)
    results: tuple[ScenarioResult, ...] = ()
    for part in in_blocks(placed, _WAVES * services.concurrency, _identity(placed)):
        of_base = part.trials[0].arm.name == BASE
        if of_base and (changed := await services.arms.conditions.changed()):
            return Ran(results, altered(changed))
        began = time.monotonic() - services.started
        ran = await run_plan(part, services)
        results += tuple(_with_order(result, len(results) + place, began) for place, result in enumerate(ran))
        if of_base and (changed := await services.arms.conditions.changed(after=True)):
            return Ran(results[: -len(ran)], altered(changed))
        if of_base and not all(isinstance(result, Scored) for result in ran):
            return Ran(results)  # what it was to confirm stays open, so that nothing more is paid for
        if of_base:
            await services.arms.conditions.remember()
    return Ran(results)


def _with_order(result: ScenarioResult, place: int, began: float) -> ScenarioResult:
    return replace(result, place=place, began=began) if isinstance(result, Scored) else result


def _identity(plan: Plan) -> str:
    """Of a round of a run: the same commits give the same order of its trials again."""
    arms = sorted({(trial.arm.name, trial.arm.commit or "") for trial in plan.trials})
    return f"{arms} {sorted({trial.number for trial in plan.trials})}"


def altered(what: str) -> str:
    """Why the base cannot be measured any more."""
    return f"what trials of the base depend on was altered while the change ran ({what})"


def _placed(plan: Plan, services: RunServices) -> Plan:
    """The plan with the arms as they are here: whoever made it knows no more than their names."""
    return Plan(tuple(replace(trial, arm=services.arms[trial.arm.name].arm) for trial in plan.trials))


class PlanLoop:
    """Runs the first plan, then further ones until the evidence has its verdict.

    It ends: ``next_step`` asks for no trial twice, and for at most so many of each scenario.

    Args:
        no_further: why no further plan can be run, known before; None where one can.
        interruptions: filled when the run is cancelled; nothing is begun from then on.
        known: what was measured before, by shards; None where nothing was. The first plan adds to it.
    """

    def __init__(
        self,
        first: Plan,
        next_step: Callable[[Measured], Plan | Verdict],
        no_further: str | None,
        interruptions: Sequence[str],
        known: Measured | None = None,
    ) -> None:
        self._first = first
        self._ask = next_step
        self._interruptions = interruptions
        never = "the run was cancelled before it began"
        own = [trial for trial in first.trials if trial.arm.name != BASE]
        unmeasured = Measured(tuple(NotRun(trial, never) for trial in own))
        self.measured = replace(known or unmeasured, no_further=no_further)
        self._known = known

    @property
    def runs_base(self) -> bool:
        """Whether the first plan has trials of the base."""
        return any(trial.arm.name == BASE for trial in self._first.trials)

    @property
    def may_go_on(self) -> bool:
        """Whether further plans may follow the first one."""
        return self.measured.no_further is None

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be run, so that no system needs to be started."""
        if self._known is None or self._first.trials:
            return False
        ended = bool(self._interruptions or self.measured.no_further)
        return ended or not isinstance(self._ask(self.measured), Plan)

    async def run(self, services: RunServices) -> None:
        """Run scenarios until the evidence has its verdict. ``measured`` is right however this ends.

        The base's part of the first plan is over before anything of the change is started.
        """
        own, base = split(self._first)
        if base.trials and not self._interruptions:
            await self._run_base(base, services)
        if self._known is None and not self._interruptions:
            results = (await run_first(own, services)).results
            self.measured = replace(self.measured, results=(*results, *results_of(self.measured.results, BASE)))
        while not self._interruptions and not self.measured.no_further:
            step = self._ask(self.measured)
            if not isinstance(step, Plan):
                return
            self._require_new(step)
            ran = await _uncancelled(run_further(step, services))
            self._extend(ran)
            self.measured = replace(self.measured, no_further=ran.refusal)

    async def _run_base(self, base: Plan, services: RunServices) -> None:
        ran = await _uncancelled(run_first(base, services))
        self._extend(ran)
        self.measured = replace(self.measured, base_failed=ran.refusal)

    def _require_new(self, plan: Plan) -> None:
        """Models are paid for every trial: a rule that asks for one again must not go on for ever."""
        known = {_place(result.trial) for result in self.measured.results}
        again = [trial for trial in plan.trials if _place(trial) in known]
        if again or not plan.trials:
            raise RuntimeError(
                f"the verdict asks for trials that were run already: {[_place(trial) for trial in again]}"
            )

    def _extend(self, ran: Ran) -> None:
        self.measured = replace(self.measured, results=(*self.measured.results, *ran.results))


def _place(trial: Trial) -> tuple[str, str, int]:
    return trial.scenario.id, trial.arm.name, trial.number


async def _uncancelled(running: Awaitable[Ran]) -> Ran:
    """What came of a plan; nothing where it was cancelled while the base was being started."""
    try:
        return await running
    except asyncio.CancelledError:
        return Ran((), _CANCELLED)


def split(plan: Plan) -> tuple[Plan, Plan]:
    """The trials of the change and those of the base."""
    own = tuple(trial for trial in plan.trials if trial.arm.name != BASE)
    return Plan(own), Plan(tuple(trial for trial in plan.trials if trial.arm.name == BASE))
