"""The ``suite`` and ``comparison`` blocks: how scenarios are run and compared, and what they must reach together."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ratiba_action.config.metrics_block import STANDARD_GATES, unknown_gates
from ratiba_action.config.model_limits import Name
from ratiba_action.model.comparison import Rules
from ratiba_action.model.scenario import MOST_TRIALS, Strategy, Suite
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
        default=_DEFAULT.detectable_power, description="power of the minimum detectable effect that a report states"
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


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]


class StrategyBlock(StrictModel):
    """How the repeats of a scenario are run and when it passes."""

    least_mean: Share | None = Field(default=None, description="instead of each score's own threshold")
    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 1
    passes: Annotated[int, Field(ge=1, le=MOST_TRIALS)] | None = Field(
        default=None, description="of the trials; default: all"
    )
    timeout_seconds: Seconds | None = None
    retries: Annotated[int, Field(ge=0, le=5)] = Field(default=0, description="of a trial that errored")

    @model_validator(mode="after")
    def _enough_trials(self) -> Self:
        if self.passes is not None and self.passes > self.trials:
            msg = f"passes is {self.passes}, and there are {self.trials} trials"
            raise ValueError(msg)
        return self

    @property
    def strategy(self) -> Strategy:
        """The same as a noun of the core, which knows what was written and what is only a default."""
        return Strategy(**self.model_dump(), given=frozenset(self.model_fields_set))


MOST_CONCURRENCY = 64
_WORD = "standard"


class StopBlock(StrictModel):
    """When no further conversation is begun."""

    after: Annotated[int, Field(ge=1, le=10_000, description="failed scenarios")]


def _or_standard(given: Any) -> Any:
    """The word ``standard`` stands for the gates of the table."""
    if given == _WORD:
        return dict(STANDARD_GATES)
    if not isinstance(given, dict):
        msg = f"{given!r:.80} is not allowed; give {_WORD!r}, or gates with what they must reach"
        raise ValueError(msg)  # noqa: TRY004 - Pydantic tells only a ValueError by its place
    return given


_GatesInput = dict[Name, Share] | Literal["standard"]
Gates = Annotated[dict[Name, Share], BeforeValidator(_or_standard, json_schema_input_type=_GatesInput)]


class SuiteBlock(StrictModel):
    """How all scenarios are run, and the limits of all of them together."""

    concurrency: Annotated[int, Field(ge=1, le=MOST_CONCURRENCY)] | None = Field(
        default=None, description="scenarios at once"
    )
    stop_on_failure: bool | StopBlock = Field(
        default=False, description="start no further scenario after the first failed one, or after so many"
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] | None = Field(
        default=None, description="of the whole run"
    )
    strategy: StrategyBlock = Field(default_factory=StrategyBlock, description="of scenarios that do not say otherwise")
    metric_thresholds: dict[Name, Share] = Field(
        default_factory=dict, description="what the mean of a metric over all scenarios must reach"
    )

    gates: Gates = Field(default_factory=dict, description="thresholds for all cases that have such a score")

    @field_validator("gates")
    @classmethod
    def _gates_are_known(cls, value: dict[str, float]) -> dict[str, float]:
        wrong = unknown_gates(value)
        if wrong:
            raise ValueError(wrong)
        return value

    @property
    def most_failed(self) -> int | None:
        """After how many failed scenarios the run stops; None for never."""
        if isinstance(self.stop_on_failure, StopBlock):
            return self.stop_on_failure.after
        return 1 if self.stop_on_failure else None


def unmeasured_metrics(names: Iterable[str], suite: Suite) -> tuple[str, ...]:
    """Those metrics that no scenario is measured by, so that a threshold of them would never be looked at."""
    measured = {assertion.label for scenario in suite.scenarios for assertion in scenario.assertions}
    return tuple(sorted(set(names) - measured))
