"""The ``suite`` block of the configuration: how all scenarios are run, and what they are held to together."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from ratiba_action.core.model.scenario import Suite
from ratiba_action.model_limits import Name
from ratiba_action.strategy_block import Share, StrategyBlock
from ratiba_action.validation import StrictModel

MOST_CONCURRENCY = 64


class StopBlock(StrictModel):
    """When no further conversation is begun."""

    after: Annotated[int, Field(ge=1, le=10_000, description="failed scenarios")]


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

    @property
    def most_failed(self) -> int | None:
        """After how many failed scenarios the run stops; None for never."""
        if isinstance(self.stop_on_failure, StopBlock):
            return self.stop_on_failure.after
        return 1 if self.stop_on_failure else None


def hold_suite(head: SuiteBlock, base: SuiteBlock) -> tuple[SuiteBlock, tuple[str, ...]]:
    """The base's block with the greater of both thresholds.

    Returns:
        The block to run with, and the keys in which the change asked for what it did not get.
    """
    thresholds = {
        name: max(block.metric_thresholds.get(name, 0.0) for block in (head, base))
        for name in sorted({*head.metric_thresholds, *base.metric_thresholds})
    }
    held = base.model_copy(update={"metric_thresholds": thresholds})
    plain = ("concurrency", "stop_on_failure", "timeout_seconds", "strategy")
    refused = [f"suite.{name}" for name in plain if getattr(head, name) != getattr(base, name)]
    refused += [f"suite.metric_thresholds.{name}" for name in held.metric_thresholds if _lowers(name, head, held)]
    return held, tuple(refused)


def _lowers(name: str, head: SuiteBlock, held: SuiteBlock) -> bool:
    return head.metric_thresholds.get(name) != held.metric_thresholds[name]


def unmeasured_metrics(names: Iterable[str], suite: Suite) -> tuple[str, ...]:
    """Those metrics that no scenario is measured by, so that a threshold of them would never be looked at."""
    measured = {assertion.metric for scenario in suite.scenarios for assertion in scenario.assertions}
    return tuple(sorted(set(names) - measured))
