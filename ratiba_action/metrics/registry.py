"""What is known of a metric by its name, and how to load it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError

from ratiba_action.checks.custom_code import MAX_JUDGE_CALLS, declared_judge_calls, is_address, judge_calls_problem
from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.judging.judged_identity import BY_DEEPEVAL
from ratiba_action.metrics.metric_table import METRICS, MetricEntry
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import Judge, JudgedMetric, Metric
from ratiba_action.util.language_detection import how_to_install
from ratiba_action.util.text import did_you_mean
from ratiba_action.util.validation import StrictModel, message

_MAX_TURNS = 250
"""More than any conversation has; a part of the identity of recorded votes."""
_EXPECTED = re.compile(r"\bexpect\.(\w+)")


def metric_names() -> tuple[str, ...]:
    """Names that a scenario may list, sorted."""
    return tuple(sorted(METRICS))


def is_judged(name: str, parameters: JsonObject | None = None) -> bool:
    """Whether a judge's answers make the metric's score; a repository's own metric says so in its parameters.

    Raises:
        ConfigurationError: no metric has that name.
    """
    return judge_calls(name, 1, parameters) > 0


def judge_calls(name: str, turns: int, parameters: JsonObject | None = None) -> int:
    """Judge calls that one case of the metric makes at most, for the estimate before a run.

    Args:
        name: one of ``metric_names``, or the address of a repository's own.

    Raises:
        ConfigurationError: no metric has that name.
    """
    if is_address(name):
        return declared_judge_calls(name, parameters or {})
    entry = _entry(name)
    return entry.judge_calls + entry.judge_calls_a_turn * turns


def question_stride(name: str) -> int:
    """By how much the ordinals of a repeated measurement's questions lie behind those of the one before it.

    Raises:
        ConfigurationError: no metric has that name.
    """
    if is_address(name):
        return MAX_JUDGE_CALLS  # more calls in a later version of the metric must not move the votes' ordinals
    return judge_calls(name, _MAX_TURNS if _entry(name).judge_calls_a_turn else 0)


def reads_documents(name: str) -> bool:
    """Whether a metric has nothing to measure where the system retrieved no document.

    Raises:
        ConfigurationError: no metric has that name.
    """
    return not is_address(name) and "reply.documents" in _entry(name).needs


def made_for(name: str) -> Sequence[str]:
    """Types of system that a metric is made for.

    Raises:
        ConfigurationError: no metric has that name.
    """
    return _entry(name).system_types


def metric_problems(name: str, parameters: JsonObject, truths: AbstractSet[str] | None = None) -> tuple[str, ...]:
    """Everything that is wrong with an assertion's metric, in words.

    Args:
        truths: what the scenario's turns say under ``expect``; None where that is not known.
    """
    if is_address(name):
        problem = judge_calls_problem(parameters)
        return (f"{name}: {problem}",) if problem else ()
    if name not in METRICS:
        known = did_you_mean(name, metric_names()) or f"known: {', '.join(metric_names())}; or module:attribute"
        return (f"unknown metric {name!r:.80}; {known}",)
    return (*_parameter_problems(name, parameters), *_unmet_needs(name, METRICS[name], truths))


def _unmet_needs(name: str, entry: MetricEntry, truths: AbstractSet[str] | None) -> Iterator[str]:
    if entry.package and find_spec(entry.package) is None:
        yield f"{name} needs the package {entry.package}, which is not installed; {how_to_install(entry.extra)}"
    needed = _EXPECTED.findall(entry.needs)
    if truths is not None and needed and not truths & set(needed):
        yield f"{name} has nothing to measure: no turn says {entry.needs}"


def parameters_of(name: str) -> type[StrictModel] | None:
    """The model of what a scenario may tell a metric under ``with``; None where it takes nothing.

    Raises:
        ConfigurationError: no metric has that name.
    """
    model: type[StrictModel] | None = getattr(_class(name), "Parameters", None)
    return model


def _parameter_problems(name: str, parameters: JsonObject) -> tuple[str, ...]:
    model = parameters_of(name)
    if model is None:
        return (f"{name} takes no parameters, so `with` must go",) if parameters else ()
    try:
        model.model_validate(dict(parameters))
    except ValidationError as error:
        return tuple(
            f"{name}: with{''.join(f'.{part}' for part in problem['loc'])}: {message(problem, model, problem['loc'])}"
            for problem in error.errors(include_url=False)
        )
    return ()


def readers_of(truth: str) -> tuple[str, ...]:
    """Names of the metrics that read a truth of ``expect``, sorted."""
    return tuple(name for name in metric_names() if truth in _EXPECTED.findall(METRICS[name].needs))


def load_metric(name: str, judge: Judge | None = None, parameters: JsonObject | None = None) -> Metric:
    """A fresh instance of a metric; make one for each case.

    Args:
        name: one of ``metric_names``.
        judge: needed by judged metrics only.
        parameters: what the scenario gives the metric.

    Raises:
        ConfigurationError: no metric has that name, its parameters are wrong, or it is judged and there is no judge.
    """
    problems = metric_problems(name, parameters or {})
    if problems:
        raise ConfigurationError(
            f"{'; '.join(problems)}.",
            "Correct it in the scenario or in `metrics` of the configuration, then run: ratiba validate",
        )
    kind = _class(name)
    given: dict[str, Any] = {}
    if hasattr(kind, "Parameters"):
        given["parameters"] = kind.Parameters.model_validate(dict(parameters or {}))
    if is_judged(name):
        if judge is None:
            raise ConfigurationError(f"The metric {name!r} needs a judge and none is configured.", "Configure `judge`.")
        given["judge"] = judge
    metric: Metric = kind(**given)
    return metric


class _NoJudge:
    """Stands where a metric is loaded only to say what it is."""

    model = ""

    async def answer(self, question: Question) -> Answer:
        raise ConfigurationError(f"{question.metric} calls a judge and has none.", "Load the metric with a judge.")


def recorded_as(name: str, parameters: JsonObject | None = None) -> str:
    """``name:version`` that the recorded answers of a judged metric have, without DeepEval's release.

    ``name:`` alone where the version is not known here: of a repository's own metric, and without DeepEval.

    Raises:
        ConfigurationError: no metric has that name.
    """
    unknown = metric_version(name, "")
    if is_address(name):
        return unknown
    try:
        version = load_metric(name, _NoJudge(), parameters).version
    except ConfigurationError:
        _entry(name)
        return unknown
    return metric_version(name, version.partition(BY_DEEPEVAL)[0])


def recorded_names(metrics: Iterable[str]) -> frozenset[str]:
    """Every name that ``recorded_as`` may give for the metrics of recorded answers, each ``name:version``."""
    return frozenset(form for metric in metrics for form in (metric, metric.partition(":")[0] + ":"))


def load_judged_metric(name: str, judge: Judge, parameters: JsonObject | None = None) -> JudgedMetric:
    """A fresh instance of a judged metric; make one for each case.

    Raises:
        ConfigurationError: no judged metric has that name, or its parameters are wrong.
    """
    if not is_judged(name):
        raise ConfigurationError(f"The metric {name!r} is deterministic and calls no judge.", "Load it as any metric.")
    metric: Any = load_metric(name, judge, parameters)
    judged: JudgedMetric = metric
    return judged


def _class(name: str) -> Any:
    return getattr(import_module(f"ratiba_action.metrics.{_entry(name).module}"), name)


def _entry(name: str) -> MetricEntry:
    try:
        return METRICS[name]
    except KeyError:
        raise ConfigurationError(f"No metric is called {name!r}.", f"Use one of {', '.join(metric_names())}.") from None
