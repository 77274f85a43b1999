"""The shape of a scenario file, as strict models. ``docs/scenarios.md`` explains each field."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from ratiba_action.validation import StrictModel

LANGUAGE = Field(pattern=r"^([a-z]{2,3}|mixed)$", description="ISO 639 code, or mixed")
IDENTIFIER = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100, description="also names recordings and tenant")
_DATE_AND_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")
Threshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="least value that passes, 0 to 1")]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class ToolBlock(StrictModel):
    """A tool call that the turn must make."""

    name: Text
    args: dict[str, Any] = Field(default_factory=dict, description="a subset of the call's arguments")


class EventBlock(StrictModel):
    """An event that the turn must emit."""

    type: Text
    data: dict[str, Any] = Field(default_factory=dict, description="a subset of the event's data")


class ExpectBlock(StrictModel):
    """What must hold after a turn."""

    state: Text | None = None
    payment: Text | None = None
    tools: list[ToolBlock] | None = Field(default=None, description="all calls of the turn in order; [] forbids any")
    events: list[EventBlock] = Field(default_factory=list)


class TurnBlock(StrictModel):
    """The customer speaks, or something happens."""

    user: Text | None = None
    event: dict[str, Any] | None = Field(default=None, description="a mapping with a type, delivered to the system")
    expect: ExpectBlock = Field(default_factory=ExpectBlock)

    @model_validator(mode="after")
    def _one_of_both(self) -> "TurnBlock":
        if (self.user is None) == (self.event is None):
            msg = "give either 'user' or 'event'"
            raise ValueError(msg)
        if self.event is not None and not isinstance(self.event.get("type"), str):
            msg = "an event needs a 'type' that is text"
            raise ValueError(msg)
        return self


class RuleBlock(StrictModel):
    """An exact rule over the whole conversation."""

    type: Text
    value: Any


class AssertionBlock(StrictModel):
    """A metric with its threshold."""

    metric: Text
    threshold: Threshold


class CustomerBlock(StrictModel):
    """The fictional customer; recordings hold no other identifiers."""

    name: Text
    phone: Text


class ScenarioBlock(StrictModel):
    """A golden conversation."""

    id: Annotated[str, IDENTIFIER]
    language: Annotated[str, LANGUAGE]
    layer: Literal["fsm", "turn", "replay", "golden", "production"] = "golden"
    system_type: Literal["chatbot", "agent", "rag", "search", "classifier"] = "chatbot"
    vertical: str = ""
    tags: list[Text] = Field(default_factory=list)
    critical: bool = False
    now: Annotated[datetime, Field(strict=False, description="the clock given to the system, with its UTC offset")]
    touches: list[Text] = Field(default_factory=list, description="gitignore patterns")
    customer: CustomerBlock
    turns: Annotated[list[TurnBlock], Field(min_length=1, max_length=200)]
    rules: list[RuleBlock] = Field(default_factory=list)
    assertions: list[AssertionBlock] = Field(default_factory=list)

    @field_validator("now", mode="before")
    @classmethod
    def _now_is_text(cls, value: Any) -> Any:
        if not (isinstance(value, str) and _DATE_AND_TIME.match(value)):
            msg = f"{value!r} is not a date and time such as 2026-04-25T10:00:00+03:00"
            raise ValueError(msg)
        return value

    @field_validator("now")
    @classmethod
    def _now_is_aware(cls, value: datetime) -> datetime:
        if value.tzinfo is None:
            msg = f"{value.isoformat()} has no UTC offset; write it as {value.isoformat()}+03:00"
            raise ValueError(msg)
        return value
