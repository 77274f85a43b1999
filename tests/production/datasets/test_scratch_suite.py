"""Which gates a dataset is held to when it is run."""

from typing import Any

import pytest

from ratiba_action.production.datasets.scratch_suite import parse_threshold, with_standard_thresholds


def gates(data: dict[str, Any], **asked: float) -> dict[str, float]:
    return {gate["metric"]: gate["at_least"] for gate in with_standard_thresholds(data, asked)["gates"]}


@pytest.mark.parametrize(
    ("expect", "held"),
    [
        ({"label": "${intent}"}, {"macro_f1": 0.80, "min_class_f1": 0.60}),
        (
            {"labels": "${skills}"},
            {"macro_f1": 0.80, "min_class_f1": 0.60, "skill_recall": 0.90},
        ),
        ({"answer": "${answer}"}, {"answer_accuracy": 0.70}),
    ],
)
def test_the_standard_gates_hold_where_there_is_a_truth_for_them(
    expect: dict[str, str], held: dict[str, float]
) -> None:
    assert gates({"turns": [{"user": "${message}", "expect": expect}]}) == held


def test_a_listed_gate_holds_in_the_place_of_the_standard_and_one_that_is_asked_for_in_the_place_of_both() -> None:
    data = {"turns": [{"expect": {"label": "A"}}], "gates": [{"metric": "macro_f1", "at_least": 0.5}]}
    assert gates(data)["macro_f1"] == 0.5
    assert gates(data, macro_f1=0.9)["macro_f1"] == 0.9
    assert gates(data, accuracy=0.4)["accuracy"] == 0.4


@pytest.mark.parametrize("text", ["macro_f1", "macro_f1=high", "macro_f1=1.5", "macro_f1=nan", "f1=0.5", "=0.5"])
def test_a_gate_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NAME=LEAST such as"):
        parse_threshold(text)


def test_a_gate_is_a_name_and_a_least_value() -> None:
    assert parse_threshold("ndcg@10=0.75") == ("ndcg@10", 0.75)


@pytest.mark.parametrize("wrong", [{"gates": 3}, {"gates": ["macro_f1"]}, {"turns": "all"}, {"turns": [7]}])
def test_what_is_no_scenario_stays_as_it_is_for_whoever_checks_it(wrong: dict[str, Any]) -> None:
    assert with_standard_thresholds(wrong, {"macro_f1": 0.9}) == wrong
