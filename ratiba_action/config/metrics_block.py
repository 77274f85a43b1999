"""The ``metrics`` block: what every scenario of a system type, or of a language, is measured by."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ratiba_action.config.model_limits import Name
from ratiba_action.metrics.aggregates import AGGREGATES, ANSWER_ACCURACY, SKILL_RECALL, truth_of
from ratiba_action.metrics.entry import SYSTEM_TYPES
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.metrics.standard import STANDARD
from ratiba_action.model.scenario import Assertion, Expectation, Scenario, Suite
from ratiba_action.util.text import part_of
from ratiba_action.util.validation import StrictModel

STANDARD_GATES: Mapping[str, float] = {
    "macro_f1": 0.80,
    "min_class_f1": 0.60,
    SKILL_RECALL: 0.90,
    ANSWER_ACCURACY: 0.70,
}


def unknown_gates(names: Iterable[str]) -> str:
    """What is wrong with names of gates, in words; a metric's name is none: ``metric_thresholds`` hold its mean."""
    unknown = [name for name in names if not truth_of(name) and name != ANSWER_ACCURACY]
    return f"there is no gate {', '.join(map(repr, unknown)):.80}; known: {', '.join(AGGREGATES)}" if unknown else ""


FLUENCY_THRESHOLD = 0.80
_WITHOUT_PROSE = ("search", "classifier")
_SCRIPTED = "fsm"


def attach_language_metrics(scenario: Scenario) -> tuple[Assertion, ...]:
    """The scenario's assertions with the fluency metric of its language added, unless listed (``seeds/000`` §6).

    ``sw`` and ``mixed`` attach SwahiliFluencyMetric, ``en`` attaches EnglishFluencyMetric, others attach none. Search
    and classifiers answer with documents and labels, and a scripted model (layer ``fsm``) says what the scenario wrote:
    there is no prose of a model to judge.
    """
    if scenario.system_type in _WITHOUT_PROSE or scenario.layer == _SCRIPTED:
        return scenario.assertions
    metric = {"sw": "SwahiliFluencyMetric", "mixed": "SwahiliFluencyMetric", "en": "EnglishFluencyMetric"}.get(
        scenario.language
    )
    if metric is None or any(assertion.label == metric for assertion in scenario.assertions):
        return scenario.assertions
    return (Assertion(metric, FLUENCY_THRESHOLD, scenario.line), *scenario.assertions)


_WORD = "standard"


class MeasuredBy(StrictModel):
    """A metric with its threshold."""

    metric: Name
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="least value that passes, 0 to 1")]
    parameters: dict[str, Any] = Field(default_factory=dict, alias="with", description="parameters of the metric")

    @model_validator(mode="after")
    def _can_work(self) -> Self:
        problems = list(metric_problems(self.metric, self.parameters))
        if "catalogue" in self.parameters:
            problems = ["a catalogue of terms is named from a scenario's folder; list the metric in the scenarios"]
        if problems:
            raise ValueError("; ".join(problems))
        return self


def _or_standard(system_type: str) -> Callable[[Any], Any]:
    """The word ``standard`` stands for the list of the table."""

    def read(given: Any) -> Any:
        if given == _WORD:
            return [{"metric": metric, "threshold": threshold} for metric, threshold in STANDARD[system_type]]
        if not isinstance(given, list):
            msg = f"{given!r:.80} is not allowed; give {_WORD!r}, or a list of metrics with their thresholds"
            raise ValueError(msg)  # noqa: TRY004 - Pydantic tells only a ValueError by its place
        return given

    return read


_Input = list[MeasuredBy] | Literal["standard"]
_Chatbot = Annotated[list[MeasuredBy], BeforeValidator(_or_standard("chatbot"), json_schema_input_type=_Input)]
_Agent = Annotated[list[MeasuredBy], BeforeValidator(_or_standard("agent"), json_schema_input_type=_Input)]
_Rag = Annotated[list[MeasuredBy], BeforeValidator(_or_standard("rag"), json_schema_input_type=_Input)]
_Search = Annotated[list[MeasuredBy], BeforeValidator(_or_standard("search"), json_schema_input_type=_Input)]
_Classifier = Annotated[list[MeasuredBy], BeforeValidator(_or_standard("classifier"), json_schema_input_type=_Input)]


class MetricsBlock(StrictModel):
    """What every scenario of a system type is measured by, beside what it lists itself."""

    fluency: bool = Field(default=True, description="whether the language of a scenario adds its fluency metric")
    chatbot: _Chatbot = Field(default_factory=list)
    agent: _Agent = Field(default_factory=list)
    rag: _Rag = Field(default_factory=list)
    search: _Search = Field(default_factory=list)
    classifier: _Classifier = Field(default_factory=list)

    @field_validator(*SYSTEM_TYPES)
    @classmethod
    def _each_stands_once(cls, value: list[MeasuredBy]) -> list[MeasuredBy]:
        names = [one.metric for one in value]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            msg = f"{', '.join(twice)} stands twice; give one threshold"
            raise ValueError(msg)
        return value

    def of(self, system_type: str) -> Sequence[MeasuredBy]:
        """What is listed for a type of system."""
        listed: list[MeasuredBy] = getattr(self, system_type)
        return listed

    @property
    def names(self) -> Mapping[str, Sequence[str]]:
        """The metrics that are listed, by type of system."""
        return {system_type: tuple(one.metric for one in self.of(system_type)) for system_type in SYSTEM_TYPES}


def attach_metrics(scenario: Scenario, block: MetricsBlock) -> tuple[Assertion, ...]:
    """The scenario's assertions, those of its system type and of its language.

    What the scenario lists itself stays. A metric whose truth no turn says is not added.
    """
    listed = {assertion.label for assertion in scenario.assertions}
    added = tuple(
        Assertion(one.metric, one.threshold, scenario.line, one.parameters)
        for one in block.of(scenario.system_type)
        if one.metric not in listed and _has_truth(one, scenario)
    )
    measured = replace(scenario, assertions=(*scenario.assertions, *added))
    return attach_language_metrics(measured) if block.fluency else measured.assertions


def metrics_without_truth(block: MetricsBlock, suite: Suite) -> Iterator[str]:
    """For each metric how many scenarios of its type it is not added to, in words."""
    for system_type in SYSTEM_TYPES:
        scenarios = [one for one in suite.scenarios if one.system_type == system_type]
        for one in block.of(system_type):
            lacking = [each for each in scenarios if not _lists(each, one.metric) and not _has_truth(one, each)]
            if lacking:
                told = part_of(len(lacking), len(scenarios), "scenario", "does", "do")
                yield (
                    f"metrics.{system_type}: {told} not say what {one.metric} compares with, so that it is not added:"
                    f" {lacking[0].id}{' and others' if len(lacking) > 1 else ''}"
                )


def _lists(scenario: Scenario, metric: str) -> bool:
    return any(assertion.label == metric for assertion in scenario.assertions)


def _has_truth(one: MeasuredBy, scenario: Scenario) -> bool:
    blank = Expectation()
    told = frozenset(
        field.name
        for turn in scenario.turns
        for field in fields(Expectation)
        if getattr(turn.expect, field.name) != getattr(blank, field.name)
    )
    return not metric_problems(one.metric, one.parameters, told)
