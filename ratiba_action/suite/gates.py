"""What is wrong with the gates of a case file, and the metrics that they bring."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ratiba_action.metrics.aggregates import (
    AGGREGATES,
    ANSWER_ACCURACY,
    DOCUMENTS,
    LABELS,
    SKILL_RECALL,
    ranked_parts,
    truth_of,
)
from ratiba_action.model.data_set import DataSet, Gate
from ratiba_action.model.scenario import Assertion, Scenario, Suite
from ratiba_action.model.values import JsonObject
from ratiba_action.verdict.data_set_scores import asserts_something

_RANKING_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "ndcg": "NdcgMetric",
        "map": "MapMetric",
        "mrr": "MrrMetric",
        "precision": "PrecisionAtKMetric",
        "recall": "RecallAtKMetric",
    }
)


def gate_problems(gates: Sequence[Gate], scenario: Scenario) -> Iterator[tuple[Gate, str]]:
    """Gates that stand twice, have no known name, or that a case gives no truth for.

    Args:
        gates: of the case file.
        scenario: one of its cases.
    """
    seen: set[str] = set()
    for gate in gates:
        if gate.metric in seen:
            yield gate, f"the gate {gate.metric!r} stands twice"
        seen.add(gate.metric)
        wrong = _problem(gate.metric, scenario)
        if wrong:
            yield gate, wrong


def _problem(name: str, scenario: Scenario) -> str:
    truth, expected = truth_of(name), [turn.expect for turn in scenario.turns]
    if truth == LABELS and not any(one.label is not None or one.labels is not None for one in expected):
        return f"the gate {name!r} needs expect.label or expect.labels"
    if truth == DOCUMENTS and not any(grade > 0 for one in expected for grade in (one.documents or {}).values()):
        return f"the gate {name!r} needs a relevant document in expect.documents"
    listed = [assertion.label for assertion in scenario.assertions]
    if not truth and name != ANSWER_ACCURACY and name not in listed:
        known = ", ".join([*AGGREGATES, *(one for one in listed if one not in AGGREGATES)])
        return f"there is no gate {name!r:.80}; known: {known}"
    return ""


def with_gate_metrics(scenario: Scenario, gates: Sequence[Gate]) -> Scenario:
    """The case with the metric of each gate on labels or documents, so that a report shows what each case scored.

    A metric that the file lists stays as it is. The threshold of the others is 0: the gate decides, not the case.
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
    elif truth == LABELS:
        if any(turn.expect.label is not None for turn in scenario.turns):
            yield "LabelMetric", {}
        if any(turn.expect.labels is not None for turn in scenario.turns):
            yield "LabelsMetric", {}


def with_configured_gates(suite: Suite, gates: Mapping[str, float]) -> Suite:
    """The suite with these thresholds for its cases too: of two on one aggregate the greater applies.

    A case file that does not say what an aggregate compares with is not held to it.

    Args:
        suite: with the metrics of its system types.
        gates: least value by name of the aggregate.
    """
    cases = _cases(suite)
    held = {one.id: _held(one, gates, cases.get(one.id, ())) for one in suite.data_sets}
    return replace(
        suite,
        data_sets=tuple(held.values()),
        scenarios=tuple(
            with_gate_metrics(one, held[one.data_set].gates) if one.data_set in held else one for one in suite.scenarios
        ),
    )


def gates_below(data_sets: Iterable[DataSet], gates: Mapping[str, float]) -> Iterator[str]:
    """Each threshold of cases that asks for less than the configuration, in words."""
    for data_set in data_sets:
        for gate in data_set.gates:
            least = gates.get(gate.metric, 0.0)
            if gate.at_least < least:
                asked = f"the cases of {data_set.id} ask for {gate.at_least:.2f}"
                yield f"suite.gates: {gate.metric} must reach {least:.2f}, though {asked}"


def _cases(suite: Suite) -> Mapping[str, Sequence[Scenario]]:
    found: dict[str, list[Scenario]] = {}
    for scenario in suite.scenarios:
        found.setdefault(scenario.data_set, []).append(scenario)
    return found


def _held(data_set: DataSet, gates: Mapping[str, float], cases: Sequence[Scenario]) -> DataSet:
    own = tuple(replace(one, at_least=max(one.at_least, gates.get(one.metric, 0.0))) for one in data_set.gates)
    listed = {one.metric for one in own}
    added = (Gate(name, least) for name, least in gates.items() if name not in listed and _has_truth(name, cases))
    return replace(data_set, gates=(*own, *added))


def _has_truth(name: str, cases: Sequence[Scenario]) -> bool:
    if name == ANSWER_ACCURACY:
        return any(map(asserts_something, cases))
    expected = [turn.expect for case in cases for turn in case.turns]
    truth = truth_of(name)
    if truth == LABELS:
        several = any(one.labels is not None for one in expected)
        return several or (name != SKILL_RECALL and any(one.label is not None for one in expected))
    return truth != DOCUMENTS or any(grade > 0 for one in expected for grade in (one.documents or {}).values())
