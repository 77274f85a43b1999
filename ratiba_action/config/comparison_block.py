"""The ``comparison`` block of the configuration: what a change is held to when it is compared with its base."""

from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import Field

from ratiba_action.model.comparison import Rules
from ratiba_action.util.validation import StrictModel

_DEFAULT = Rules()

_Level = Annotated[float, Field(gt=0, le=0.5, allow_inf_nan=False)]
_Drop = Annotated[float, Field(ge=0.01, le=1, allow_inf_nan=False)]


class ComparisonBlock(StrictModel):
    """Levels and margins of the comparison with the base; docs/statistics.md explains each."""

    screen_level: _Level = Field(
        default=_DEFAULT.screen_level, description="p-value of the first look that asks for further trials"
    )
    single_run_screen_level: _Level = Field(
        default=_DEFAULT.single_run_screen_level, description="the same with a single run of the base"
    )
    confirm_level: Annotated[float, Field(gt=0, le=0.1, allow_inf_nan=False)] = Field(
        default=_DEFAULT.confirm_level, description="p-value over all data that makes a drop a regression"
    )
    least_margin: _Drop = Field(
        default=_DEFAULT.least_margin, description="drop of the mean to be ruled out; more where the run can see less"
    )
    scenario_drop: _Drop = Field(
        default=_DEFAULT.scenario_drop, description="drop of one scenario that is looked at by itself"
    )
    detectable_power: Annotated[float, Field(ge=0.5, le=0.99, allow_inf_nan=False)] = Field(
        default=_DEFAULT.detectable_power, description="with which the smallest drop that a run can see is told"
    )
    confirming_trials: Annotated[int, Field(ge=1, le=9)] = Field(
        default=_DEFAULT.confirming_trials, description="of every scenario on both sides after an alarm"
    )
    suspect_trials: Annotated[int, Field(ge=2, le=9)] = Field(
        default=_DEFAULT.suspect_trials, description="of a scenario that dropped, on both sides"
    )
    fewest_scenarios: Annotated[int, Field(ge=6, le=1_000)] = Field(
        default=_DEFAULT.fewest_scenarios, description="fewer are not compared by chance; five could never reach 0.025"
    )
    pooled_runs: Annotated[int, Field(ge=1, le=10)] = Field(
        default=_DEFAULT.pooled_runs, description="runs of the base that are pooled at most"
    )
    stale_days: Annotated[int, Field(ge=1, le=365)] = Field(
        default=_DEFAULT.stale_days, description="age of a baseline that is warned about"
    )

    @property
    def rules(self) -> Rules:
        """The same as a noun of the core."""
        return Rules(**self.model_dump())


_STRICTER: Mapping[str, Callable[[float, float], float]] = {
    "screen_level": max,
    "single_run_screen_level": max,
    "confirm_level": max,
    "least_margin": min,
    "scenario_drop": min,
    "detectable_power": min,
    "fewest_scenarios": min,
    "stale_days": min,
}
"""Which of two values finds more; of every other key the base's is taken."""


def hold_comparison(head: ComparisonBlock, base: ComparisonBlock) -> tuple[ComparisonBlock, tuple[str, ...]]:
    """The stricter of both blocks, key by key; how many trials and runs are looked at is the base's.

    Returns:
        The block to run with, and the keys in which the change asked for what it did not get.
    """
    ours, theirs = head.model_dump(), base.model_dump()
    held = {name: _STRICTER[name](ours[name], theirs[name]) if name in _STRICTER else theirs[name] for name in ours}
    refused = tuple(f"comparison.{name}" for name in ours if held[name] != ours[name])
    return ComparisonBlock.model_validate(held), refused
