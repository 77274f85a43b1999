"""The cases of a case file as text, the same in every report format: size, thresholds, lowest cases."""

from collections.abc import Iterable
from dataclasses import dataclass

from ratiba_action.metrics.aggregates import TRUTHS, truth_of
from ratiba_action.model.case_file import (
    CaseFileScores,
    CaseThreshold,
    CaseThresholdResult,
    CaseThresholdStatus,
    ClassScores,
)
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.reporting.wording import label, number
from ratiba_action.util.text import plural
from ratiba_action.verdict.tally import MetricSummary

_VERSION_DIGITS = 12


@dataclass(frozen=True, slots=True)
class LowCase:
    """A case that scored less than 1.

    Args:
        result: metric, value and reason.
    """

    name: str
    message: str
    value: float
    result: str


@dataclass(frozen=True, slots=True)
class GateRow:
    """One threshold of cases.

    Args:
        name: for lists, such as ``intents: macro_f1``.
        value: measured value; empty if nothing was measured.
        status: passed or failed, or why that is unknown.
    """

    result: CaseThresholdResult
    name: str
    value: str
    status: str


@dataclass(frozen=True, slots=True)
class CasesSummary:
    """The cases of one case file.

    Args:
        about: size and version.
        classes: the lowest F1 first.
        low: cases that a deterministic metric scored below 1, the lowest first.
    """

    scores: CaseFileScores
    about: str
    gates: tuple[GateRow, ...]
    classes: tuple[ClassScores, ...]
    low: tuple[LowCase, ...]


def summarise_cases(scores: CaseFileScores, results: Iterable[ScenarioResult]) -> CasesSummary:
    """The summary of a case file."""
    return CasesSummary(
        scores=scores,
        about=_about(scores),
        gates=tuple(_gate_row(scores, result) for result in scores.gates),
        classes=tuple(sorted(scores.classes, key=lambda item: (item.f1, item.label))),
        low=_low_cases(scores, results),
    )


def _gate_row(scores: CaseFileScores, result: CaseThresholdResult) -> GateRow:
    value = "" if result.value is None else number(result.value)
    return GateRow(result, f"{scores.id}: {result.gate.metric}", value, _status(scores, result))


def _about(scores: CaseFileScores) -> str:
    apart = f", {scores.quarantined} in quarantine" if scores.quarantined else ""
    measured = "all measured" if scores.measured == scores.cases else f"{scores.measured} measured"
    return f"{plural(scores.cases, 'case')}, {measured}{apart}, version {scores.digest[:_VERSION_DIGITS]}"


def _status(scores: CaseFileScores, result: CaseThresholdResult) -> str:
    if result.status is not CaseThresholdStatus.UNKNOWN:
        missed = result.status is CaseThresholdStatus.FAILED and scores.measured < scores.selected
        return f"failed, at most {number(result.at_most)} was possible" if missed else result.status.value
    if scores.quarantined and not scores.selected:
        return "not decided, in quarantine"
    if scores.selected + scores.quarantined < scores.cases:
        return f"not decided, {scores.selected} of {plural(scores.cases, 'case')} selected"
    if scores.measured < scores.selected:
        return f"unknown, {scores.selected - scores.measured} not measured"
    return "unknown, no answer has the values it needs"


def describe_threshold(summary: MetricSummary, data_sets: Iterable[CaseFileScores]) -> str:
    """The thresholds of a metric's scores and of the aggregates over them; a threshold of 0 requires nothing.

    Args:
        data_sets: scores of the run's cases, with their thresholds.
    """
    gates = [result.gate for scores in data_sets for result in scores.gates]
    of_metric = [
        gate for gate in gates if gate.metric == summary.metric or _is_of(gate, TRUTHS.get(summary.metric, ""))
    ]
    texts = [number(minimum) for minimum in summary.thresholds if minimum > 0]
    texts += [f"{gate.metric} {number(gate.at_least)}" for gate in of_metric]
    return ", ".join(dict.fromkeys(texts)) or "none"


def _is_of(gate: CaseThreshold, truth: str) -> bool:
    return bool(truth) and truth_of(gate.metric) == truth


def describe_passing(summary: MetricSummary) -> str:
    """How many scores reach their threshold; empty if there is none."""
    return f"{summary.passed} of {summary.count}" if any(minimum > 0 for minimum in summary.thresholds) else ""


def _low_cases(scores: CaseFileScores, results: Iterable[ScenarioResult]) -> tuple[LowCase, ...]:
    found = [
        LowCase(
            label(result), _first_message(result), score.value, f"{score.metric} {number(score.value)}: {score.reason}"
        )
        for result in results
        if isinstance(result, Scored) and result.trial.scenario.data_set == scores.id
        for score in result.scores
        if not score.judged and score.value < 1
    ]
    return tuple(sorted(found, key=lambda case: (case.value, case.name)))


def _first_message(result: Scored) -> str:
    return next((turn.user for turn in result.trial.scenario.turns if turn.user), "")
