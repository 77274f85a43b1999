"""What is wrong with the gates of a data set, and the metrics that they bring."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ratiba_action.metrics.aggregates import AGGREGATES, ANSWER_ACCURACY, DOCUMENTS, LABELS, ranked_parts, truth_of
from ratiba_action.model.data_set import Gate
from ratiba_action.model.scenario import Assertion, Scenario
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


def gate_problems(gates: Sequence[Gate], scenario: Scenario) -> Iterator[tuple[Gate, str]]:
    """Gates that stand twice, have no known name, or that a case gives no truth for.

    Args:
        gates: of the data set.
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
