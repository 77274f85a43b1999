"""The only loop of a run: run a plan, decide what its evidence means, run the plan that this asks for."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ratiba_action.errors import RatibaError
from ratiba_action.model.measurement import NotRun, ScenarioResult
from ratiba_action.model.plan import BASE, Arm, Plan, Trial
from ratiba_action.model.verdict import Verdict
from ratiba_action.run.bench import Bench
from ratiba_action.run.runner import run_plan
from ratiba_action.verdict.pairing import results_of_change

StartBase = Callable[[Bench], Awaitable[tuple[Arm, Bench]]]
"""Starts the base; the bench that it is given, with the base's part added."""
Afford = Callable[[Sequence[Trial]], Awaitable[str]]
"""Says why the money does not hold some further trials; empty where it does."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a plan.

    Args:
        results: in the plan's order.
        refusal: why none of its trials was begun; empty where they were.
    """

    results: tuple[ScenarioResult, ...]
    refusal: str = ""


class Arms:
    """Runs plans on the sides of a change.

    Args:
        bench: with the first arm's part.
        arm: the first one.
        start_base: None where there is no base to hold conversations with.
        no_base: why there is none.
        afford: asked before a further plan is begun.
    """

    def __init__(
        self, bench: Bench, arm: Arm, *, start_base: StartBase | None, no_base: str = "", afford: Afford
    ) -> None:
        self._bench = bench
        self._arms = {arm.name: arm}
        self._start_base = start_base
        self._no_base = no_base
        self._afford = afford

    @property
    def bench(self) -> Bench:
        """Everything that is started so far."""
        return self._bench

    async def run(self, plan: Plan) -> Ran:
        """Run a plan as far as the money goes; nothing of it where an arm cannot be started."""
        refusal = await self._ready(plan)
        return Ran((), refusal) if refusal else Ran(await run_plan(self._placed(plan), self._bench))

    async def run_further(self, plan: Plan) -> Ran:
        """Run the whole of a further plan, or nothing: half of a confirmation confirms nothing.

        What is begun may still be cut short, by the deadline, a signal, or a cap that another run has used up.
        """
        refusal = await self._ready(plan)
        placed = self._placed(plan) if not refusal else plan
        refusal = refusal or await self._afford(placed.trials)
        return Ran((), refusal) if refusal else Ran(await run_plan(placed, self._bench))

    async def _ready(self, plan: Plan) -> str:
        """Start what a plan names; why that cannot be, empty where it is started."""
        missing = {trial.arm.name for trial in plan.trials} - self._arms.keys()
        if not missing:
            return ""
        start, self._start_base = self._start_base, None
        if start is None or missing != {BASE}:
            return self._no_base or f"there is no arm {', '.join(sorted(missing))}"
        try:
            arm, self._bench = await start(self._bench)
        except RatibaError as error:
            self._no_base = f"the base could not be started: {error}"
            return self._no_base
        self._arms[BASE] = arm
        return ""

    def _placed(self, plan: Plan) -> Plan:
        """The plan with the arms as they are here: whoever made it knows no more than their names."""
        return Plan(tuple(replace(trial, arm=self._arms[trial.arm.name]) for trial in plan.trials))


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
