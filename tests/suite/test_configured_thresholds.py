"""Gates of the configuration: which data sets they hold for, and what of two on one aggregate holds."""

from typing import Any

from ratiba_action.config.metrics_block import STANDARD_THRESHOLDS
from ratiba_action.model.case_file import CaseFile, CaseThreshold
from ratiba_action.model.scenario import Expectation, Scenario, Suite, Turn
from ratiba_action.suite.thresholds import thresholds_below, with_configured_thresholds
from tests.support.sample_report import sample_scenario


def suite(*gates: CaseThreshold, **expected: Any) -> Suite:
    case = sample_scenario(
        "intents__a", data_set="intents", turns=(Turn("q", expect=Expectation(**expected)),), assertions=()
    )
    plain = sample_scenario("spa")
    return Suite((case, plain), "", (CaseFile("intents", "scenarios/intents.jsonl", "5f" * 32, 1, gates),))


def held(before: Suite, **gates: float) -> dict[str, float]:
    (data_set,) = with_configured_thresholds(before, gates or STANDARD_THRESHOLDS).data_sets
    return {gate.metric: gate.at_least for gate in data_set.gates}


def cases(after: Suite) -> tuple[Scenario, ...]:
    return tuple(one for one in after.scenarios if one.data_set)


def test_the_standard_gates_hold_where_turns_say_the_truth_that_they_need() -> None:
    assert held(suite(label="ANSWER")) == {"macro_f1": 0.8, "min_class_f1": 0.6}
    assert held(suite(labels=("hours",))) == {"macro_f1": 0.8, "min_class_f1": 0.6, "skill_recall": 0.9}
    assert held(suite(documents={"a": 1.0})) == {}
    assert held(suite(label="ANSWER", state="DONE"))["answer_accuracy"] == 0.7
    assert held(suite(documents={"a": 1.0}), **{"ndcg@10": 0.7, "macro_f1": 0.8}) == {"ndcg@10": 0.7}


def test_of_a_data_sets_own_gate_and_the_configurations_the_greater_holds() -> None:
    own = suite(CaseThreshold("macro_f1", 0.5), CaseThreshold("accuracy", 0.9), label="ANSWER")
    assert held(own, macro_f1=0.8, accuracy=0.6) == {"macro_f1": 0.8, "accuracy": 0.9}
    assert list(thresholds_below(own.data_sets, {"macro_f1": 0.8, "accuracy": 0.6})) == [
        "suite.gates: macro_f1 must reach 0.80, although the cases of intents set 0.50"
    ]


def test_a_gate_brings_its_metric_to_the_cases_and_to_nothing_else() -> None:
    after = with_configured_thresholds(suite(label="ANSWER"), STANDARD_THRESHOLDS)
    assert [[one.metric for one in case.assertions] for case in cases(after)] == [["LabelMetric"]]
    assert after.scenarios[1] == suite().scenarios[1]


def test_without_gates_nothing_is_changed() -> None:
    before = suite(CaseThreshold("macro_f1", 0.5), label="ANSWER")
    assert with_configured_thresholds(before, {}).data_sets == before.data_sets
