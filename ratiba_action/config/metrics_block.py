"""The ``metrics`` section: metrics for every scenario of a system type or language."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ratiba_action.config.model_limits import Name
from ratiba_action.metrics.aggregates import AGGREGATES, ANSWER_ACCURACY, SKILL_RECALL, truth_of
from ratiba_action.metrics.english_fluency import Audience
from ratiba_action.metrics.metric_table import STANDARD
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Assertion, Expectation, Layer, Scenario, Suite, SystemType
from ratiba_action.util.text import part_of
from ratiba_action.util.validation import StrictModel

STANDARD_THRESHOLDS: Mapping[str, float] = {
    "macro_f1": 0.80,
    "min_class_f1": 0.60,
    SKILL_RECALL: 0.90,
    ANSWER_ACCURACY: 0.70,
}


def unknown_aggregates(names: Iterable[str]) -> str:
    """The problem of unknown aggregates; empty if all are known. Means of metrics belong to ``metric_thresholds``."""
    unknown = [name for name in names if not truth_of(name) and name != ANSWER_ACCURACY]
    return f"unknown threshold {', '.join(map(repr, unknown)):.80}; known: {', '.join(AGGREGATES)}" if unknown else ""


FLUENCY_THRESHOLD = 0.80
_WITHOUT_PROSE = (SystemType.SEARCH, SystemType.CLASSIFIER)


_ENGLISH = "EnglishFluencyMetric"
FLUENCY_METRICS = MappingProxyType({"sw": "SwahiliFluencyMetric", "mixed": "SwahiliFluencyMetric", "en": _ENGLISH})
"""The metric that a language adds."""


def attach_language_metrics(scenario: Scenario, audience: str | None = None) -> tuple[Assertion, ...]:
    """The scenario's assertions with the fluency metric of its language added, unless it is listed.

    ``sw`` and ``mixed`` attach SwahiliFluencyMetric, ``en`` attaches EnglishFluencyMetric, others attach none. Search
    and classifiers answer with documents and labels, and a scripted model (layer ``fsm``) says what the scenario wrote:
    there is no prose of a model to judge. A scenario can turn it off for itself.

    Args:
        audience: of the house style, also for a listed EnglishFluencyMetric that names none.
    """
    listed = _for_audience(scenario.assertions, audience)
    if scenario.system_type in _WITHOUT_PROSE or scenario.layer == Layer.FSM or not scenario.fluency:
        return listed
    metric = FLUENCY_METRICS.get(scenario.language)
    if metric is None or any(assertion.label == metric for assertion in listed):
        return listed
    return (*_for_audience((Assertion(metric, FLUENCY_THRESHOLD, scenario.line),), audience), *listed)


def _for_audience(assertions: tuple[Assertion, ...], audience: str | None) -> tuple[Assertion, ...]:
    if audience is None:
        return assertions
    return tuple(
        replace(assertion, parameters={**assertion.parameters, "audience": audience})
        if assertion.metric == _ENGLISH and "audience" not in assertion.parameters
        else assertion
        for assertion in assertions
    )


_WORD = "standard"


class MeasuredBy(StrictModel):
    """A metric with its threshold."""

    metric: Name
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="minimum value to pass, 0 to 1")]
    parameters: dict[str, Any] = Field(default_factory=dict, alias="with", description="parameters of the metric")

    @model_validator(mode="after")
    def _can_work(self) -> Self:
        problems = list(metric_problems(self.metric, self.parameters))
        if isinstance(self.parameters.get("catalogue"), str):
            problems = ["a catalogue's path is relative to a scenario; write its language and terms here instead"]
        if problems:
            raise ValueError("; ".join(problems))
        return self


def _or_standard(system_type: SystemType) -> Callable[[Any], Any]:
    """Replaces the word ``standard`` by the list of the table."""

    def read(given: Any) -> Any:
        if given == _WORD:
            return [{"metric": metric, "threshold": threshold} for metric, threshold in STANDARD[system_type]]
        if not isinstance(given, list):
            msg = f"{given!r:.80} is not allowed; give {_WORD!r}, or a list of metrics with their thresholds"
            raise ValueError(msg)  # noqa: TRY004 - Pydantic reports only a ValueError with its location
        return given

    return read


_Input = list[MeasuredBy] | Literal["standard"]
_Chatbot = Annotated[list[MeasuredBy], BeforeValidator(_or_standard(SystemType.CHATBOT), json_schema_input_type=_Input)]
_Agent = Annotated[list[MeasuredBy], BeforeValidator(_or_standard(SystemType.AGENT), json_schema_input_type=_Input)]
_Rag = Annotated[list[MeasuredBy], BeforeValidator(_or_standard(SystemType.RAG), json_schema_input_type=_Input)]
_Search = Annotated[list[MeasuredBy], BeforeValidator(_or_standard(SystemType.SEARCH), json_schema_input_type=_Input)]
_Classifier = Annotated[
    list[MeasuredBy], BeforeValidator(_or_standard(SystemType.CLASSIFIER), json_schema_input_type=_Input)
]


class FluencyBlock(StrictModel):
    """The fluency metric that a scenario's language adds."""

    enabled: bool = Field(default=True, description="whether to add it")
    audience: Audience | None = Field(
        default=None, description="house style for English: who reads the replies; neutral without"
    )


def _switch_or_block(given: Any) -> Any:
    if isinstance(given, bool):
        return {"enabled": given}
    if not isinstance(given, dict | FluencyBlock):
        msg = f"{given!r:.80} is not allowed; give true, false, or a mapping such as {{audience: guests of a hotel}}"
        raise ValueError(msg)  # noqa: TRY004 - Pydantic reports only a ValueError with its location
    return given


class MetricsBlock(StrictModel):
    """Metrics for every scenario of a system type, in addition to those it lists."""

    fluency: Annotated[FluencyBlock, BeforeValidator(_switch_or_block, json_schema_input_type=bool | FluencyBlock)] = (
        Field(
            default_factory=FluencyBlock,
            description="whether to add the fluency metric of a scenario's language, or its house style",
        )
    )
    chatbot: _Chatbot = Field(default_factory=list)
    agent: _Agent = Field(default_factory=list)
    rag: _Rag = Field(default_factory=list)
    search: _Search = Field(default_factory=list)
    classifier: _Classifier = Field(default_factory=list)

    @field_validator(*SystemType)
    @classmethod
    def _no_duplicates(cls, value: list[MeasuredBy]) -> list[MeasuredBy]:
        names = [entry.metric for entry in value]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is listed twice; give one threshold")
        return value

    def of(self, system_type: SystemType) -> Sequence[MeasuredBy]:
        """The metrics for a type of system."""
        listed: list[MeasuredBy] = getattr(self, system_type)
        return listed

    @property
    def names(self) -> Mapping[str, Sequence[str]]:
        """Names of the metrics by type of system."""
        return {system_type: tuple(entry.metric for entry in self.of(system_type)) for system_type in SystemType}


def attach_metrics(scenario: Scenario, block: MetricsBlock) -> tuple[Assertion, ...]:
    """The scenario's assertions, those of its system type and of its language; its own tuple where none is added.

    Metrics that the scenario lists are kept. A metric without the expected values that it needs is not added, and none
    to a test.
    """
    if scenario.test is not None:
        return ()
    listed = {assertion.label for assertion in scenario.assertions}
    added = tuple(
        Assertion(entry.metric, entry.threshold, scenario.line, entry.parameters)
        for entry in block.of(scenario.system_type)
        if entry.metric not in listed and _has_truth(entry, scenario)
    )
    if added:
        scenario = replace(scenario, assertions=(*scenario.assertions, *added))
    if not block.fluency.enabled:
        return _for_audience(scenario.assertions, block.fluency.audience)
    return attach_language_metrics(scenario, block.fluency.audience)


def metrics_without_truth(block: MetricsBlock, suite: Suite) -> Iterator[str]:
    """A message for each metric that some scenarios of its type do not get."""
    for system_type in SystemType:
        scenarios = [scenario for scenario in suite.scenarios if scenario.system_type == system_type]
        for entry in block.of(system_type):
            lacking = [
                scenario
                for scenario in scenarios
                if not _lists(scenario, entry.metric) and not _has_truth(entry, scenario)
            ]
            if lacking:
                count = part_of(len(lacking), len(scenarios), "scenario", "does", "do")
                yield (
                    f"metrics.{system_type}: {count} not have the expected values for {entry.metric}, so it is"
                    f" not added: {lacking[0].id}{' and others' if len(lacking) > 1 else ''}"
                )


def _lists(scenario: Scenario, metric: str) -> bool:
    return any(assertion.label == metric for assertion in scenario.assertions)


def _has_truth(entry: MeasuredBy, scenario: Scenario) -> bool:
    blank = Expectation()
    expected = frozenset(
        field.name
        for turn in scenario.turns
        for field in fields(Expectation)
        if getattr(turn.expect, field.name) != getattr(blank, field.name)
    )
    return not metric_problems(entry.metric, entry.parameters, expected)
