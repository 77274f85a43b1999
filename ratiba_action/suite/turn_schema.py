"""The schema of one turn of a scenario file, as strict models. ``docs/expectations.md`` explains each field."""

from functools import cache
from importlib.util import find_spec
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from ratiba_action.checks.row_checks import query_problem
from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.util.comparable import comparable
from ratiba_action.util.json_expression import Expression, parse_path
from ratiba_action.util.language_detection import how_to_install
from ratiba_action.util.patterns import pattern_problem
from ratiba_action.util.validation import OneOf, StrictModel


def _readable(path: str) -> str:
    parse_path(path)
    return path


def _compiled(expression: str) -> str:
    Expression(expression)
    return expression


def _searchable(pattern: str) -> str:
    problem = pattern_problem(pattern)
    if problem is not None:
        raise ValueError(problem)
    return pattern


def _listed(value: Any) -> Any:
    if value is not None and not isinstance(value, str | list | dict):  # a number, a date, yes or no
        raise ValueError(f"{value!r} is not a text: write it in quotes")
    return [value] if isinstance(value, str) else value


def _visible(text: str) -> str:
    if not comparable(text).strip():
        raise ValueError("a text of white space only is in every reply; give one that can be seen")
    return text


def _detectable(code: str) -> str:
    if find_spec("lingua") is None:
        raise ValueError(f"the package that detects languages is not installed; {how_to_install('semantic')}")
    return code


Text = Annotated[str, Field(min_length=1, max_length=20_000)]
LanguageCode = Annotated[str, Field(pattern=r"^[a-z]{2,3}$", description="ISO 639 code"), AfterValidator(_detectable)]
JsonPathText = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_readable)]
Texts = Annotated[
    list[Annotated[Text, AfterValidator(_visible)]],
    BeforeValidator(_listed, json_schema_input_type=str | list[str]),
    Field(min_length=1),
]
Patterns = Annotated[
    list[Annotated[Text, AfterValidator(_searchable)]],
    BeforeValidator(_listed, json_schema_input_type=str | list[str]),
    Field(min_length=1),
]
ExpressionText = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_compiled)]
Relevance = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class ToolBlock(StrictModel):
    """A tool call that the turn must make."""

    name: Text
    args: dict[str, Any] = Field(default_factory=dict, description="a subset of the call's arguments")


class EventBlock(StrictModel):
    """An event that the turn must emit."""

    type: Text
    data: dict[str, Any] = Field(default_factory=dict, description="a subset of the event's data")


class TransitionBlock(StrictModel):
    """A move of the state machine that the turn must make."""

    source: Text | None = Field(default=None, alias="from", description="default: any state")
    target: Text = Field(alias="to")


class OutputBlock(StrictModel):
    """The structured answer of the turn."""

    value: Any
    ignore: list[JsonPathText] = Field(default_factory=list, description="JMESPaths to ignore, such as items[*].id")
    ignore_whitespace: bool = False
    ignore_order: bool = False


class RowsBlock(StrictModel):
    """What a table or a query of the tenant's database must contain."""

    table: Annotated[str, Field(min_length=1, max_length=63)] | None = Field(
        default=None, description="name of a table, as the database spells it"
    )
    query: Text | None = Field(default=None, description="a SELECT statement, instead of a table")
    where: dict[Text, Any] = Field(default_factory=dict, description="only rows with these values, by column")
    count: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None, description="how many rows; default: at least one"
    )
    equals: Any = Field(
        default=None,
        description="an object that each row matches, a list of them in any order, or the one value of a query",
    )

    @model_validator(mode="after")
    def _table_or_query(self) -> Self:
        if (self.table is None) == (self.query is None):
            raise ValueError("give either 'table' or 'query'")
        problem = query_problem(self.query) if self.query is not None else None
        if problem:
            raise ValueError(f"the query {problem}")
        return self

    @model_validator(mode="after")
    def _count_and_equals_agree(self) -> Self:
        listed = self.equals if isinstance(self.equals, list) else None
        if listed is not None and not all(isinstance(item, dict) for item in listed):
            raise ValueError("a list in 'equals' must have one object per row")
        if listed is not None and self.count is not None and self.count != len(listed):
            raise ValueError(f"'count' is {self.count}, and 'equals' lists {len(listed)}; remove 'count'")
        if self.count == 0 and self.equals is not None and listed is None:
            raise ValueError("'count' is 0, so 'equals' would be compared with nothing; remove one of them")
        return self


class ExpectBlock(StrictModel):
    """What must be true after a turn, and the expected values for metrics."""

    state: Text | None = None
    payment: Text | None = None
    tools: list[ToolBlock] | None = Field(default=None, description="all calls of the turn in order; [] forbids any")
    events: list[EventBlock] = Field(default_factory=list)
    transitions: list[TransitionBlock] = Field(default_factory=list)
    output: OutputBlock | None = None
    language: LanguageCode | None = Field(default=None, description="the language of the reply")
    contains: Texts | None = Field(default=None, description="the reply contains each text; case is ignored")
    contains_any: Texts | None = Field(
        default=None, description="the reply contains at least one of the texts; case is ignored"
    )
    not_contains: Texts | None = Field(
        default=None, description="the reply contains none of the texts; case is ignored"
    )
    contains_word: Texts | None = Field(
        default=None, description="the reply contains each text as whole words; case is ignored"
    )
    contains_any_word: Texts | None = Field(
        default=None, description="the reply contains at least one of the texts as whole words; case is ignored"
    )
    not_contains_word: Texts | None = Field(
        default=None, description="the reply contains none of the texts as whole words; case is ignored"
    )
    matches: Patterns | None = Field(default=None, description="the reply has each regular expression; case counts")
    equals: Text | None = Field(
        default=None, description="the whole reply, apart from white space and Unicode normalization; case counts"
    )
    json_values: dict[ExpressionText, Any] | None = Field(
        default=None, alias="json", description="values by JMESPath of the reply, which is JSON; {} for any JSON"
    )
    max_words: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        default=None, description="the most words of the reply"
    )
    rows: list[RowsBlock] = Field(
        default_factory=list, description="rows that the database must contain after the turn"
    )
    answer: Text | None = Field(default=None, description="a reference answer")
    key_phrases: list[Text] = Field(default_factory=list)
    documents: list[Text] | dict[Text, Relevance] | None = Field(
        default=None, description="ids of relevant documents, or a mapping of them to graded relevance"
    )
    label: Text | None = None
    labels: list[Text] | None = None
    refusal: bool | None = Field(default=None, description="whether the system must refuse")

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, value: Any) -> Any:
        if value is None:  # a key that somebody forgot to fill would assert nothing, without a word
            raise ValueError("it is empty: give a value, or remove the key")
        return value

    @model_validator(mode="after")
    def _label_or_labels(self) -> Self:
        if self.label is not None and self.labels is not None:
            raise ValueError("give either 'label' or 'labels'")
        return self


class TurnBlock(StrictModel):
    """The customer speaks, or something happens."""

    user: Text | None = None
    event: dict[str, Any] | None = Field(default=None, description="a mapping with a type, delivered to the system")
    expect: ExpectBlock = Field(default_factory=cache(ExpectBlock))
    reply: Text | None = Field(default=None, description="layer replay: the captured reply of the system")

    @model_validator(mode="after")
    def _user_or_event(self) -> Self:
        if (self.user is None) == (self.event is None):
            raise ValueError("give either 'user' or 'event'")
        if self.event is not None and not isinstance(self.event.get("type"), str):
            raise ValueError("an event needs a 'type' that is text")
        return self


class StepBlock(StrictModel):
    """One answer of the mocked model: text or data, tool calls, or text with tool calls."""

    provider: Annotated[str, OneOf(tuple(FORMATS))] | None = Field(
        default=None, description="default: the provider that is called"
    )
    text: Text | None = None
    data: Any = Field(default=None, description="written as JSON")
    tools: list[ToolBlock] = Field(default_factory=list, description="tool calls of the model, in order")

    @model_validator(mode="after")
    def _has_content(self) -> Self:
        if self.text is not None and self.data is not None:
            raise ValueError("give either 'text' or 'data'")
        if self.text is None and self.data is None and not self.tools:
            raise ValueError("give at least one of 'text', 'data' and 'tools'")
        return self
