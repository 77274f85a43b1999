"""Gates that the configuration asks of every data set, beside what each lists itself."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ratiba_action.metrics.aggregates import ANSWER_ACCURACY, DOCUMENTS, LABELS, SKILL_RECALL, truth_of
from ratiba_action.model.data_set import DataSet, Gate
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.suite.gates import with_gate_metrics
from ratiba_action.verdict.data_set_scores import asserts_something


def with_configured_gates(suite: Suite, gates: Mapping[str, float]) -> Suite:
    """The suite whose data sets are held to these gates too: of two on one aggregate the greater holds.

    A data set that does not say what an aggregate compares with is not held to it.

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
    """Each gate of a data set that asks for less than the configuration, in words."""
    for data_set in data_sets:
        for gate in data_set.gates:
            least = gates.get(gate.metric, 0.0)
            if gate.at_least < least:
                asked = f"the data set {data_set.id} asks for {gate.at_least:.2f}"
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
