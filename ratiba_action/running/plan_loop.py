"""The only loop of a run: hold a plan, ask what its evidence means, hold the plan that answers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ratiba_action.core.comparison.arms import results_of_change
from ratiba_action.core.model.measurement import NotRun, ScenarioResult
from ratiba_action.core.model.plan import BASE, Plan
from ratiba_action.core.model.verdict import Verdict
from ratiba_action.running.arms import Arms, Ran

_CANCELLED = "the run was cancelled"


@dataclass(frozen=True, slots=True)
class Held:
    """What is known so far.

    Args:
        results: of every arm.
        no_base: why the base was not held beside the head; empty where it was, or nobody asked for it.
        no_further: see ``Evidence``.
        confirmed: see ``Evidence``.
    """

    results: tuple[ScenarioResult, ...] = ()
    no_base: str = ""
    no_further: str = ""
    confirmed: bool = False

    @property
    def own(self) -> tuple[ScenarioResult, ...]:
        """The results of the change itself."""
        return results_of_change(self.results)


class PlanLoop:
    """Holds the first plan and at most one further one.

    Args:
        first: what is held in any case.
        ask: what the evidence so far asks for.
        no_further: why no further plan can be held, known before; empty where one can.
        interruptions: filled when the run is cancelled; nothing is begun from then on.
    """

    def __init__(
        self, first: Plan, ask: Callable[[Held], Plan | Verdict], no_further: str, interruptions: Sequence[str]
    ) -> None:
        self._first = first
        self._ask = ask
        self._interruptions = interruptions
        never = "the run was cancelled before it began"
        own = [trial for trial in first.trials if trial.arm.name != BASE]
        self.held = Held(tuple(NotRun(trial, never) for trial in own), no_further=no_further)

    async def hold(self, arms: Arms) -> None:
        """Hold conversations until the evidence has its verdict. ``held`` is right however this ends."""
        own, base = _split(self._first)
        self.held = replace(self.held, results=(await arms.run(own)).results)
        if base.trials and not self._interruptions:
            ran = await _uncancelled(arms.run(base))
            self._extend(ran)
            self.held = replace(self.held, no_base=ran.refusal)
        if self._interruptions or self.held.no_further:
            return
        step = self._ask(self.held)
        if isinstance(step, Plan):
            ran = await _uncancelled(arms.run_further(step))
            self._extend(ran)
            self.held = replace(self.held, no_further=ran.refusal, confirmed=not ran.refusal)

    def _extend(self, ran: Ran) -> None:
        self.held = replace(self.held, results=(*self.held.results, *ran.results))


async def _uncancelled(running: Awaitable[Ran]) -> Ran:
    """What came of a plan; nothing where it was cancelled while the base was being started."""
    try:
        return await running
    except asyncio.CancelledError:
        return Ran((), _CANCELLED)


def _split(plan: Plan) -> tuple[Plan, Plan]:
    """The trials of the change and those of the base: what the base does never delays what is known of the change."""
    own = tuple(trial for trial in plan.trials if trial.arm.name != BASE)
    return Plan(own), Plan(tuple(trial for trial in plan.trials if trial.arm.name == BASE))
