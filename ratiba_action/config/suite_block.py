"""The ``suite`` block of the configuration: how all scenarios are run, and what they are held to together."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from ratiba_action.config.model_limits import Name
from ratiba_action.config.standard_gates import STANDARD_GATES, unknown_gates
from ratiba_action.config.strategy_block import Share, StrategyBlock
from ratiba_action.model.scenario import Suite
from ratiba_action.util.validation import StrictModel

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
    """How all scenarios are run, and what they are held to together."""

    concurrency: Annotated[int, Field(ge=1, le=MOST_CONCURRENCY)] | None = Field(
        default=None, description="conversations at once"
    )
    stop_on_failure: bool | StopBlock = Field(
        default=False, description="begin no further conversation after the first failed scenario, or after so many"
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] | None = Field(
        default=None, description="of the whole run"
    )
    strategy: StrategyBlock = Field(default_factory=StrategyBlock, description="of scenarios that do not say otherwise")
    metric_thresholds: dict[Name, Share] = Field(
        default_factory=dict, description="what the mean of a metric over all conversations must reach"
    )

    gates: Gates = Field(default_factory=dict, description="what every data set that has such a score must reach")

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


def hold_suite(head: SuiteBlock, base: SuiteBlock) -> tuple[SuiteBlock, tuple[str, ...]]:
    """The base's block with the greater of both thresholds and gates.

    Returns:
        The block to run with, and the keys in which the change asked for what it did not get.
    """
    thresholds = _greater(head.metric_thresholds, base.metric_thresholds)
    gates = _greater(head.gates, base.gates)
    held = base.model_copy(update={"metric_thresholds": thresholds, "gates": gates})
    plain = ("concurrency", "stop_on_failure", "timeout_seconds", "strategy")
    refused = [f"suite.{name}" for name in plain if getattr(head, name) != getattr(base, name)]
    refused += [f"suite.metric_thresholds.{name}" for name in _lowered(head.metric_thresholds, thresholds)]
    refused += [f"suite.gates.{name}" for name in _lowered(head.gates, gates)]
    return held, tuple(refused)


def _greater(head: Mapping[str, float], base: Mapping[str, float]) -> dict[str, float]:
    return {name: max(one.get(name, 0.0) for one in (head, base)) for name in sorted({*head, *base})}


def _lowered(asked: Mapping[str, float], held: Mapping[str, float]) -> list[str]:
    return [name for name, least in held.items() if asked.get(name) != least]


def unmeasured_metrics(names: Iterable[str], suite: Suite) -> tuple[str, ...]:
    """Those metrics that no scenario is measured by, so that a threshold of them would never be looked at."""
    measured = {assertion.label for scenario in suite.scenarios for assertion in scenario.assertions}
    return tuple(sorted(set(names) - measured))
