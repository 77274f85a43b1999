"""Thresholds over all cases of a case file (key ``gates``): their checks, and the metrics that they need."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ratiba_action.metrics.aggregates import (
    AGGREGATES,
    ANSWER_ACCURACY,
    DOCUMENTS,
    LABELS,
    REFUSALS,
    SKILL_RECALL,
    has_to_refuse,
    ranked_parts,
    truth_of,
)
from ratiba_action.model.case_file import CaseFile, CaseThreshold
from ratiba_action.model.scenario import Assertion, Scenario, Suite
from ratiba_action.model.values import JsonObject

_RANKING_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "ndcg": "NdcgMetric",
        "map": "MapMetric",
        "mrr": "MrrMetric",
        "precision": "PrecisionAtKMetric",
        "recall": "RecallAtKMetric",
    }
)


def threshold_problems(gates: Sequence[CaseThreshold], scenario: Scenario) -> Iterator[tuple[CaseThreshold, str]]:
    """Thresholds that are duplicate, unknown, or lack the expected values that they need."""
    seen: set[str] = set()
    for gate in gates:
        if gate.metric in seen:
            yield gate, f"duplicate threshold {gate.metric!r}"
        seen.add(gate.metric)
        wrong = _problem(gate.metric, scenario)
        if wrong:
            yield gate, wrong


def _problem(name: str, scenario: Scenario) -> str:
    truth, expected = truth_of(name), [turn.expect for turn in scenario.turns]
    if truth == LABELS and not any(
        expectation.label is not None or expectation.labels is not None for expectation in expected
    ):
        return f"the threshold {name!r} needs expect.label or expect.labels"
    if truth == DOCUMENTS and not any(
        relevance > 0 for expectation in expected for relevance in (expectation.documents or {}).values()
    ):
        return f"the threshold {name!r} needs a relevant document in expect.documents"
    if truth == REFUSALS and all(expectation.refusal is None for expectation in expected):
        return f"the threshold {name!r} needs expect.refusal"
    listed = [assertion.label for assertion in scenario.assertions]
    if not truth and name != ANSWER_ACCURACY and name not in listed:
        known = ", ".join([*AGGREGATES, *(expectation for expectation in listed if expectation not in AGGREGATES)])
        return f"unknown threshold {name!r:.80}; known: {known}"
    return ""


def with_threshold_metrics(scenario: Scenario, gates: Sequence[CaseThreshold]) -> Scenario:
    """The case with the metric of each threshold on labels, documents or refusals; reports show each case's score.

    Metrics that the file lists are unchanged. The others have threshold 0: only the threshold over all cases counts.
    """
    assertions = {assertion.label: assertion for assertion in scenario.assertions}
    for gate in gates:
        for metric, parameters in _metrics(gate.metric, scenario):
            assertions.setdefault(metric, Assertion(metric, 0.0, scenario.line, parameters))
    return replace(scenario, assertions=tuple(assertions.values()))


def _metrics(name: str, scenario: Scenario) -> Iterator[tuple[str, JsonObject]]:
    truth = truth_of(name)
    if truth == DOCUMENTS:
        formula, cut = ranked_parts(name)
        yield _RANKING_METRICS[formula], {} if cut is None else {"k": cut}
    elif truth == REFUSALS:
        if any(turn.expect.refusal is not None for turn in scenario.turns):
            yield "RefusalMetric", {}
    elif truth == LABELS:
        if any(turn.expect.label is not None for turn in scenario.turns):
            yield "LabelMetric", {}
        if any(turn.expect.labels is not None for turn in scenario.turns):
            yield "LabelsMetric", {}


def with_configured_thresholds(suite: Suite, gates: Mapping[str, float]) -> Suite:
    """The suite with the configured thresholds for its cases; the greater of two for one aggregate applies.

    A case file without the expected values that an aggregate needs does not get its threshold.

    Args:
        suite: with the metrics of its system types.
        gates: threshold by name of the aggregate.
    """
    cases = _cases(suite)
    by_id = {found.id: _with_thresholds(found, gates, cases.get(found.id, ())) for found in suite.data_sets}
    return replace(
        suite,
        data_sets=tuple(by_id.values()),
        scenarios=tuple(
            with_threshold_metrics(scenario, by_id[scenario.data_set].gates) if scenario.data_set in by_id else scenario
            for scenario in suite.scenarios
        ),
    )


def thresholds_below(case_files: Iterable[CaseFile], gates: Mapping[str, float]) -> Iterator[str]:
    """A message for each threshold of cases that is lower than the configured one."""
    for case_file in case_files:
        for gate in case_file.gates:
            minimum = gates.get(gate.metric, 0.0)
            if gate.at_least < minimum:
                required = f"the cases of {case_file.id} set {gate.at_least:.2f}"
                yield f"suite.gates: {gate.metric} must reach {minimum:.2f}, although {required}"


def _cases(suite: Suite) -> Mapping[str, Sequence[Scenario]]:
    found: dict[str, list[Scenario]] = {}
    for scenario in suite.scenarios:
        found.setdefault(scenario.data_set, []).append(scenario)
    return found


def _with_thresholds(case_file: CaseFile, gates: Mapping[str, float], cases: Sequence[Scenario]) -> CaseFile:
    own = tuple(replace(gate, at_least=max(gate.at_least, gates.get(gate.metric, 0.0))) for gate in case_file.gates)
    listed = {gate.metric for gate in own}
    added = (
        CaseThreshold(name, minimum)
        for name, minimum in gates.items()
        if name not in listed and _has_truth(name, cases)
    )
    return replace(case_file, gates=(*own, *added))


def _has_truth(name: str, cases: Sequence[Scenario]) -> bool:
    from ratiba_action.verdict.case_file_scores import asserts_something

    if name == ANSWER_ACCURACY:
        return any(map(asserts_something, cases))
    expected = [turn.expect for case in cases for turn in case.turns]
    truth = truth_of(name)
    if truth == LABELS:
        several = any(expectation.labels is not None for expectation in expected)
        return several or (name != SKILL_RECALL and any(expectation.label is not None for expectation in expected))
    if truth == REFUSALS:
        return any(expectation.refusal is has_to_refuse(name) for expectation in expected)
    return truth != DOCUMENTS or any(
        relevance > 0 for expectation in expected for relevance in (expectation.documents or {}).values()
    )
