"""The schema of a scenario file, as strict models. ``docs/scenarios.md`` explains each field."""

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    InstanceOf,
    JsonValue,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ratiba_action.checks.failure_rules import key_problem, rule_value
from ratiba_action.config.suite_block import Seconds, StrategyBlock
from ratiba_action.config.system_kinds import VariantName
from ratiba_action.metrics.aggregates import ANSWER_ACCURACY
from ratiba_action.model.scenario import DEFAULT_CUSTOMER, DEFAULT_NOW, Layer, SystemType
from ratiba_action.suite.scenario_clock import default_now, read_now
from ratiba_action.suite.turn_schema import RowsBlock, StepBlock, Text, TurnBlock
from ratiba_action.util.body_template import INPUT_NAME
from ratiba_action.util.instants import LocalTime
from ratiba_action.util.text import clip
from ratiba_action.util.validation import StrictModel

LANGUAGE = Field(pattern=r"^([a-z]{2,3}|mixed)$", description="ISO 639 code, or mixed")
IDENTIFIER = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100, description="also names recordings and tenant")


def _clock(value: Any, info: ValidationInfo) -> Any:
    timezone = (info.context or {}).get("timezone", "")
    return default_now(timezone) if value is DEFAULT_NOW else read_now(value, timezone)


Now = Annotated[
    InstanceOf[LocalTime],
    BeforeValidator(_clock),
    WithJsonSchema({"type": "string", "examples": ["2026-03-27T10:00 Europe/Paris", "2026-04-25T10:00:00+03:00"]}),
]
MAX_TITLE = 100
_NOT_IN_TITLES = "\\x00-\\x1f\\x7f-\\x9f\u2028-\u202e\u2066-\u2069"
"""Controls, ends of lines, and signs that turn the direction of a text."""
Title = Annotated[
    str,
    Field(
        pattern=f"^[^{_NOT_IN_TITLES}]+$",
        max_length=MAX_TITLE,
        description="what it shows, in a few words, for people who read a report",
    ),
]
Threshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="minimum value to pass, 0 to 1")]


AssertionName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9_-]*$",
        max_length=60,
        description="distinguishes several assertions of one metric",
    ),
]


def _not_said(name: str) -> str:
    if name in {"message", "history"}:
        msg = f"{name!r} is what the conversation says; choose another name"
        raise ValueError(msg)
    return name


InputName = Annotated[str, Field(pattern=INPUT_NAME, max_length=60), AfterValidator(_not_said)]


def title_of(text: str) -> dict[str, str]:
    """``title`` of a scenario that is written from a text, such as a customer's message; nothing without one."""
    title = clip(re.sub(f"[{_NOT_IN_TITLES}]", " ", text), MAX_TITLE)
    return {"title": title} if title else {}


class RuleBlock(StrictModel):
    """A deterministic assertion on the whole conversation."""

    type: Text
    value: Any = Field(default=None, description="what the rule looks for")
    tool: Any = Field(default=None, description="instead of `value` in must_call_tool and must_not_call_tool")
    pattern: Any = Field(default=None, description="instead of `value` in regex_must_match and regex_must_not_match")
    threshold: Any = Field(
        default=None, description="instead of `value` in max_hallucination_risk: minimum share of supported claims"
    )
    plugin: Any = Field(default=None, description="instead of `value` in custom; module.name or module:name")

    @model_validator(mode="before")
    @classmethod
    def _in_one_spelling(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        problem = key_problem(data, cls.model_fields)
        if problem is not None:
            wrong = next((key for key in data if key not in cls.model_fields), "")
            # The key is where the problem is.
            raise PydanticCustomError("value_error", "{error}", {"error": problem, "key": wrong})
        return {**data, "value": rule_value(data)}


class AssertionBlock(StrictModel):
    """A metric with its threshold."""

    metric: Text
    name: AssertionName | None = None
    threshold: Threshold
    parameters: dict[str, Any] = Field(default_factory=dict, alias="with", description="parameters of the metric")


class CustomerBlock(StrictModel):
    """The fictional customer; recordings may contain no other identifiers."""

    name: Text
    phone: Text


class SimulatedUserBlock(StrictModel):
    """A customer that a model plays."""

    persona: Text
    goal: Text
    max_turns: Annotated[int, Field(ge=1, le=50)] = 8
    must_reach_goal: bool = Field(
        default=True, description="whether the scenario fails if the conversation ends without the goal"
    )


class TurnLimitsBlock(StrictModel):
    """Limits of each turn."""

    seconds: Seconds | None = None
    usd: Annotated[Decimal, Field(gt=0, le=1_000, allow_inf_nan=False, strict=False)] | None = None


class QuarantineBlock(StrictModel):
    """A quarantine: the scenario runs and is reported, but does not count."""

    reason: Text
    owner: Text
    until: Annotated[date, Field(strict=False, description="last day of it, such as 2026-12-31")]


class GateBlock(StrictModel):
    """A threshold over all cases of a case file."""

    metric: Text
    at_least: Threshold
    decides: bool = Field(
        default=False, description="of answer_accuracy: a case that fails does not fail the run, only this share does"
    )

    @model_validator(mode="after")
    def _is_a_share_of_cases(self) -> Self:
        if self.decides and self.metric != ANSWER_ACCURACY:
            msg = f"only the threshold of {ANSWER_ACCURACY} can decide instead of each case; remove `decides`"
            raise ValueError(msg)
        return self


class ScenarioMetricsBlock(StrictModel):
    """Metrics that a scenario gets without listing them."""

    fluency: bool = Field(default=True, description="false: the language adds no fluency metric to this scenario")


class ScenarioBlock(StrictModel):
    """A golden conversation."""

    id: Annotated[str, IDENTIFIER]
    title: Title | None = None
    language: Annotated[str, LANGUAGE]
    layer: Annotated[Layer, Field(strict=False)] = Layer.GOLDEN
    system_type: Annotated[SystemType, Field(strict=False)] = SystemType.CHATBOT
    vertical: str = ""
    family: Text | None = Field(
        default=None, description="scenarios of one family vary together, and count as one measurement"
    )
    tags: list[Text] = Field(default_factory=list)
    critical: bool = False
    now: Now = Field(
        default=DEFAULT_NOW,
        validate_default=True,
        description="the clock given to the system, with its IANA time zone or UTC offset",
    )
    touches: list[Text] = Field(default_factory=list, description="gitignore patterns")
    customer: CustomerBlock = CustomerBlock(name=DEFAULT_CUSTOMER.name, phone=DEFAULT_CUSTOMER.phone)
    inputs: dict[InputName, JsonValue] = Field(
        default_factory=dict, description="values that the system is given besides the messages, by name"
    )
    variant: VariantName | None = Field(
        default=None, description="the variant of the system that it runs with; default: the system as it is"
    )
    turns: Annotated[list[TurnBlock], Field(max_length=200)] = Field(default_factory=list)
    rules: list[RuleBlock] = Field(default_factory=list)
    rows: list[RowsBlock] = Field(
        default_factory=list, description="rows that the database must contain after the conversation"
    )
    assertions: list[AssertionBlock] = Field(default_factory=list)
    metrics: ScenarioMetricsBlock = Field(default_factory=ScenarioMetricsBlock)
    cases: Text | None = Field(default=None, description="JSONL, JSON or CSV file; the scenario is run once per row")
    gates: list[GateBlock] = Field(default_factory=list, description="thresholds of the aggregate scores of the cases")
    script: list[StepBlock] | None = Field(default=None, description="layer fsm: answers of the mocked model, in order")
    compare: Literal["exact", "metric"] | None = Field(
        default=None, description="layer replay: how a reply is compared with the captured one; default: exact"
    )
    simulated_user: SimulatedUserBlock | None = None
    limits: TurnLimitsBlock = Field(default_factory=TurnLimitsBlock)
    strategy: StrategyBlock = Field(default_factory=StrategyBlock)
    quarantine: QuarantineBlock | None = None
    provenance: dict[str, Any] = Field(default_factory=dict, description="source of a captured conversation")

    @model_validator(mode="after")
    def _somebody_speaks(self) -> Self:
        if not self.turns and self.simulated_user is None:
            raise ValueError("give at least one of 'turns', or a 'simulated_user'")
        return self

    @model_validator(mode="after")
    def _critical_is_exact(self) -> Self:
        loose = [f"strategy.{name}" for name in ("min_mean", "passes") if name in self.strategy.model_fields_set]
        loose += [] if self.strategy.type is None else ["strategy.type"]
        loose += ["quarantine"] if self.quarantine is not None else []
        loose += ["gates that decide"] if any(gate.decides for gate in self.gates) else []
        if self.critical and loose:
            raise ValueError(f"a critical scenario cannot have {', '.join(loose)}; remove them, or remove `critical`")
        return self

    @model_validator(mode="after")
    def _gates_need_cases(self) -> Self:
        if self.gates and self.cases is None:
            raise ValueError("'gates' are thresholds of cases; add 'cases' or remove them")
        return self
