"""The sides of a run: plans name them, and the base is started when the first plan does."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ratiba_action.errors import RatibaError
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import BASE, Arm, Plan, Trial
from ratiba_action.run.bench import Bench
from ratiba_action.run.runner import run_plan

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
