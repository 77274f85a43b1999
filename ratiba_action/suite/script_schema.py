"""The shape of one scripted answer of a model, as a strict model. ``docs/scenarios.md`` explains each field."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from ratiba_action.suite.turn_schema import Text, ToolBlock
from ratiba_action.util.validation import StrictModel


class StepBlock(StrictModel):
    """One answer: a text or data, tool calls, or words beside tool calls."""

    provider: Literal["anthropic", "openai"] | None = Field(default=None, description="default: whoever is asked")
    text: Text | None = None
    data: Any = Field(default=None, description="said as JSON")
    tools: list[ToolBlock] = Field(default_factory=list, description="what the model calls, in order")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.text is not None and self.data is not None:
            msg = "give either 'text' or 'data'"
            raise ValueError(msg)
        if self.text is None and self.data is None and not self.tools:
            msg = "give at least one of 'text', 'data' and 'tools'"
            raise ValueError(msg)
        return self
