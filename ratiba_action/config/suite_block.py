"""The ``suite`` and ``comparison`` sections: how scenarios are run and compared, and their common thresholds."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator

from ratiba_action.config.metrics_block import STANDARD_THRESHOLDS, unknown_aggregates
from ratiba_action.config.model_limits import Name
from ratiba_action.model.comparison import DeclineRules, Rules
from ratiba_action.model.own_history import MAX_CONFIDENCE, MIN_CONFIDENCE, Statistical
from ratiba_action.model.scenario import MAX_TRIALS, Strategy, Suite
from ratiba_action.util.validation import StrictModel

_DEFAULT = Rules()

_Level = Annotated[float, Field(gt=0, le=0.5, allow_inf_nan=False)]
_Drop = Annotated[float, Field(ge=0.01, le=1, allow_inf_nan=False)]


MIN_MEAN = 0.5
"""Of the scores of a scenario that passes by their mean; from the evaluation harness of the sources."""


class DeclineBlock(StrictModel):
    """How the base branch's own runs are compared with an earlier version, to find a slow decline."""

    anchor: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")] = Field(
        default=_DEFAULT.decline.anchor,
        description="`best`, of the last weeks; `none`; or a tag or commit that the gate has measured",
    )
    weeks: Annotated[int, Field(ge=1, le=13)] = Field(
        default=_DEFAULT.decline.weeks, description="weeks from which the best run is chosen, one commit of each week"
    )
    level: Annotated[float, Field(gt=0, le=0.1, allow_inf_nan=False)] = Field(
        default=_DEFAULT.decline.level, description="p-value of the first look, and chance of a false alarm in ten runs"
    )
    block: bool = Field(default=_DEFAULT.decline.block, description="a confirmed decline fails the base branch's run")

    @property
    def rules(self) -> DeclineRules:
        """The rules as a model object."""
        return DeclineRules(**self.model_dump())


class ComparisonBlock(StrictModel):
    """Levels and margins of the comparison with the base."""

    screen_level: _Level = Field(
        default=_DEFAULT.screen_level, description="p-value of the screen below which further trials are run"
    )
    single_run_screen_level: _Level = Field(
        default=_DEFAULT.single_run_screen_level, description="the same with a single run of the base"
    )
    confirm_level: Annotated[float, Field(gt=0, le=0.1, allow_inf_nan=False)] = Field(
        default=_DEFAULT.confirm_level, description="p-value over all data below which a drop is a regression"
    )
    min_margin: _Drop = Field(
        default=_DEFAULT.min_margin, description="non-inferiority margin; larger if the run can detect less"
    )
    scenario_drop: _Drop = Field(
        default=_DEFAULT.scenario_drop, description="drop of a single scenario that is examined on its own"
    )
    detectable_power: Annotated[float, Field(ge=0.5, le=0.99, allow_inf_nan=False)] = Field(
        default=_DEFAULT.detectable_power, description="power of the minimum detectable effect that a report states"
    )
    confirming_trials: Annotated[int, Field(ge=1, le=9)] = Field(
        default=_DEFAULT.confirming_trials,
        description="further trials of every scenario on base and head after an alarm at most",
    )
    suspect_trials: Annotated[int, Field(ge=2, le=9)] = Field(
        default=_DEFAULT.suspect_trials, description="further trials of a scenario that dropped, on base and head"
    )
    min_scenarios: Annotated[int, Field(ge=6, le=1_000)] = Field(
        default=_DEFAULT.min_scenarios,
        description="minimum number whose means are compared; with fewer, pairs of further trials are",
    )
    pooled_runs: Annotated[int, Field(ge=1, le=10)] = Field(
        default=_DEFAULT.pooled_runs, description="maximum number of base runs that are pooled"
    )
    stale_days: Annotated[int, Field(ge=1, le=365)] = Field(
        default=_DEFAULT.stale_days, description="age of a baseline from which there is a warning"
    )
    decline: DeclineBlock = Field(default_factory=DeclineBlock, description="search for a slow decline")

    @property
    def rules(self) -> Rules:
        """The rules as a model object."""
        return Rules(**{**self.model_dump(), "decline": self.decline.rules})


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]


STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "strict": {"trials": 3},
    "majority": {"trials": 3, "passes": 2},
    "mean": {"min_mean": MIN_MEAN},
    "patient": {"timeout_seconds": 300, "retries": 2},
    "statistical": {"type": "statistical"},
}
"""Common strategies by name; a mapping with ``like`` starts from one."""


HISTORY_FIELDS = frozenset({"baseline_window", "confidence_level", "metrics"})
"""What only ``type: statistical`` reads."""
SHORT_CONFIDENCE = "confidence"
"""Another spelling of ``confidence_level``."""
_DAYS = {"d": 1, "w": 7}
_DEFAULT_HISTORY = Statistical()


class StrategyBlock(StrictModel):
    """How the trials of a scenario are run and when it passes."""

    @model_validator(mode="before")
    @classmethod
    def _has_a_use(cls, given: Any) -> Any:
        """Here, and not once it is read: then nobody knows which spelling was written."""
        own = sorted({*HISTORY_FIELDS, SHORT_CONFIDENCE} & given.keys()) if isinstance(given, dict) else []
        if own and given.get("type") is None:
            named, mean = ", ".join(own), "means" if len(own) == 1 else "mean"
            raise ValueError(f"{named} only {mean} something with `type: statistical`; add that, or remove {named}")
        return given

    # The last one that is defined runs first.
    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        if not isinstance(given, dict | str):
            return given
        own = {"like": given} if isinstance(given, str) else dict(given)
        if "like" not in own:
            return own
        name = own.pop("like")
        if not isinstance(name, str) or name not in STRATEGIES:
            raise ValueError(f"{name!r:.80} is no strategy; known: {', '.join(STRATEGIES)}")
        return {**STRATEGIES[name], **own}

    min_mean: Share | None = Field(
        default=None, description="minimum mean score, instead of each score's own threshold"
    )
    trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] = 1
    passes: Annotated[int, Field(ge=1, le=MAX_TRIALS)] | None = Field(
        default=None, description="trials that must pass; default: all"
    )
    timeout_seconds: Seconds | None = None
    retries: Annotated[int, Field(ge=0, le=5)] = Field(default=0, description="retries of a trial that errored")
    type: Literal["statistical"] | None = Field(
        default=None,
        description="judged scores pass while not below the lower bound of their own history, not by thresholds",
    )
    baseline_window: Annotated[int, Field(ge=1, le=500)] | Annotated[str, Field(pattern=r"^[1-9][0-9]?[dw]$")] = Field(
        default=20, description="type statistical: number of earlier values, or their age in days or weeks, like 30d"
    )
    confidence_level: Annotated[float, Field(ge=MIN_CONFIDENCE, le=MAX_CONFIDENCE, allow_inf_nan=False)] = Field(
        default=_DEFAULT_HISTORY.confidence_level,
        validation_alias=AliasChoices("confidence_level", SHORT_CONFIDENCE),
        description="type statistical: confidence of the lower bound; `confidence` is read too",
    )
    metrics: list[Name] = Field(default_factory=list, description="type statistical: judged metrics; default: all")

    @model_validator(mode="after")
    def _passes_fit_trials(self) -> Self:
        if self.passes is not None and self.passes > self.trials:
            raise ValueError(f"passes is {self.passes}, but there are only {self.trials} trials")
        return self

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if self.type is not None and self.min_mean is not None:
            raise ValueError("`type: statistical` and min_mean both say what scores pass by; remove one of them")
        found = self.statistical
        if found is not None and found.needed < found.minimum:
            msg = f"a confidence of {self.confidence_level:g} needs at least {found.minimum} values"
            raise ValueError(f"{msg}; baseline_window is {found.needed}")
        return self

    @property
    def statistical(self) -> Statistical | None:
        """The part about the scenario's own history; None where thresholds decide."""
        if self.type is None:
            return None
        window, values, days = self.baseline_window, None, None
        if isinstance(window, str):
            days = int(window[:-1]) * _DAYS[window[-1]]
        else:
            values = window
        return Statistical(values, days, self.confidence_level, tuple(self.metrics))

    @property
    def strategy(self) -> Strategy:
        """The strategy as a model object, which knows which fields were set."""
        given = frozenset(self.model_fields_set) - HISTORY_FIELDS - {"type"}
        own = self.model_dump(exclude={*HISTORY_FIELDS, "type"})
        return Strategy(**own, given=given, statistical=self.statistical)


MAX_CONCURRENCY = 64
_WORD = "standard"


class StopBlock(StrictModel):
    """When to start no further scenario."""

    after: Annotated[int, Field(ge=1, le=10_000, description="failed scenarios")]


def _or_standard(given: Any) -> Any:
    """Replaces the word ``standard`` by the standard thresholds."""
    if given == _WORD:
        return dict(STANDARD_THRESHOLDS)
    if not isinstance(given, dict):
        msg = f"{given!r:.80} is not allowed; give {_WORD!r}, or thresholds by name"
        raise ValueError(msg)  # noqa: TRY004 - Pydantic reports only a ValueError with its location
    return given


_GatesInput = dict[Name, Share] | Literal["standard"]
Gates = Annotated[dict[Name, Share], BeforeValidator(_or_standard, json_schema_input_type=_GatesInput)]


class SuiteBlock(StrictModel):
    """How all scenarios are run, and their common thresholds."""

    concurrency: Annotated[int, Field(ge=1, le=MAX_CONCURRENCY)] | None = Field(
        default=None, description="scenarios to run in parallel"
    )
    stop_on_failure: bool | StopBlock = Field(
        default=False, description="start no further scenario after the first failure, or after a number of failures"
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] | None = Field(
        default=None, description="time limit of the whole run"
    )
    pass_: Literal["each", "mean"] = Field(
        default="each",
        alias="pass",
        description="what a scenario passes by: each score, or the mean of its scores (min_mean: 0.5)",
    )
    strategy: StrategyBlock = Field(default_factory=StrategyBlock, description="default for all scenarios")
    metric_thresholds: dict[Name, Share] = Field(
        default_factory=dict, description="minimum mean of a metric over all scenarios"
    )

    gates: Gates = Field(
        default_factory=dict, description="thresholds of aggregate scores, for all cases that have such a score"
    )

    @field_validator("gates")
    @classmethod
    def _gates_are_known(cls, value: dict[str, float]) -> dict[str, float]:
        wrong = unknown_aggregates(value)
        if wrong:
            raise ValueError(wrong)
        return value

    @model_validator(mode="after")
    def _passes_by_one_thing(self) -> Self:
        if self.pass_ == "mean" and self.strategy.type is not None:  # noqa: S105 - no password
            msg = "`pass: mean` and strategy `type: statistical` both say what scores pass by; remove one of them"
            raise ValueError(msg)
        return self

    @property
    def defaults(self) -> Strategy:
        """What scenarios take where their files say nothing."""
        strategy = self.strategy.strategy
        if self.pass_ == "each" or "min_mean" in strategy.given:  # noqa: S105 - no password
            return strategy
        return replace(strategy, min_mean=MIN_MEAN, given=strategy.given | {"min_mean"})

    @property
    def max_failed(self) -> int | None:
        """After how many failed scenarios the run stops; None for never."""
        if isinstance(self.stop_on_failure, StopBlock):
            return self.stop_on_failure.after
        return 1 if self.stop_on_failure else None


def unmeasured_metrics(names: Iterable[str], suite: Suite) -> tuple[str, ...]:
    """Metrics that no scenario uses, so that a threshold for them would have no effect."""
    measured = {assertion.label for scenario in suite.scenarios for assertion in scenario.assertions}
    return tuple(sorted(set(names) - measured))
