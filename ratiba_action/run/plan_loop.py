"""The only loop of a run: run a plan, decide what its evidence means, run the plan that this asks for."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ratiba_action.model.measurement import NotRun, ScenarioResult
from ratiba_action.model.plan import BASE, Plan, Trial
from ratiba_action.model.verdict import Verdict
from ratiba_action.run.arms import Arms, Ran
from ratiba_action.verdict.arms import results_of_change

_CANCELLED = "the run was cancelled"


@dataclass(frozen=True, slots=True)
class Held:
    """What is known so far.

    Args:
        results: of every arm.
        no_base: why the base was not run beside the head; empty where it was, or nobody asked for it.
        no_further: see ``Evidence``.
    """

    results: tuple[ScenarioResult, ...] = ()
    no_base: str = ""
    no_further: str = ""

    @property
    def own(self) -> tuple[ScenarioResult, ...]:
        """The results of the change itself."""
        return results_of_change(self.results)


class PlanLoop:
    """Runs the first plan, then further ones until the evidence has its verdict.

    It ends: ``next_step`` asks for no trial twice, and for at most so many of each scenario.

    Args:
        first: what is run in any case.
        ask: what the evidence so far asks for.
        no_further: why no further plan can be run, known before; empty where one can.
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
        """Run scenarios until the evidence has its verdict. ``held`` is right however this ends."""
        own, base = _split(self._first)
        self.held = replace(self.held, results=(await arms.run(own)).results)
        if base.trials and not self._interruptions:
            ran = await _uncancelled(arms.run(base))
            self._extend(ran)
            self.held = replace(self.held, no_base=ran.refusal)
        while not self._interruptions and not self.held.no_further:
            step = self._ask(self.held)
            if not isinstance(step, Plan):
                return
            self._require_new(step)
            ran = await _uncancelled(arms.run_further(step))
            self._extend(ran)
            self.held = replace(self.held, no_further=ran.refusal)

    def _require_new(self, plan: Plan) -> None:
        """Models are paid for every trial: a rule that asks for one again must not go on for ever."""
        known = {_place(result.trial) for result in self.held.results}
        again = [trial for trial in plan.trials if _place(trial) in known]
        if again or not plan.trials:
            raise RuntimeError(f"the verdict asks for trials that were run already: {[_place(one) for one in again]}")

    def _extend(self, ran: Ran) -> None:
        self.held = replace(self.held, results=(*self.held.results, *ran.results))


def _place(trial: Trial) -> tuple[str, str, int]:
    return trial.scenario.id, trial.arm.name, trial.number


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
