"""The ``strategy`` block, of a scenario and, as defaults, of the configuration."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from ratiba_action.model.scenario import Strategy
from ratiba_action.util.validation import StrictModel

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]


class StrategyBlock(StrictModel):
    """How the repeats of a scenario are run and when it passes."""

    least_mean: Share | None = Field(default=None, description="in the place of each score's own threshold")
    trials: Annotated[int, Field(ge=1, le=50)] = 1
    passes: Annotated[int, Field(ge=1, le=50)] | None = Field(default=None, description="of the trials; default: all")
    timeout_seconds: Seconds | None = None
    retries: Annotated[int, Field(ge=0, le=5)] = Field(default=0, description="of a trial that broke off")

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
