from typing import Any

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.registry import load_metric, metric_problems
from ratiba_action.model.measurement import Score
from ratiba_action.model.scenario import Expectation
from tests.support.cases import case, found

BOOKING = Expectation(label="BOOKING")
SKILLS = Expectation(labels=("hours", "prices", "parking"))


async def score(name: str, expect: Expectation, output: Any, **parameters: object) -> Score:
    return await load_metric(name, None, parameters).measure(case(found(expect=expect, output=output)), 1.0)


async def test_the_right_label_scores_1_and_any_other_0() -> None:
    right = await score("LabelMetric", BOOKING, {"label": "BOOKING", "confidence": 0.9})
    wrong = await score("LabelMetric", BOOKING, {"label": "ANSWER", "confidence": 0.9})
    assert (right.value, wrong.value) == (1, 0)
    assert wrong.reason == "turn 1: got ANSWER with confidence 0.90, expected BOOKING"


@pytest.mark.parametrize("output", [None, "BOOKING", {"labels": ["BOOKING"]}, {"label": None}, {"label": 3}, []])
async def test_an_output_without_a_label_is_a_wrong_answer_with_a_reason(output: Any) -> None:
    measured = await score("LabelMetric", BOOKING, output)
    assert measured.value == 0
    assert "the output has no text 'label'" in measured.reason


@pytest.mark.parametrize("confidence", [1.5, -0.1, "high", True, float("nan")])
async def test_a_confidence_outside_0_to_1_is_reported_and_does_not_count(confidence: Any) -> None:
    measured = await score("LabelMetric", BOOKING, {"label": "BOOKING", "confidence": confidence})
    assert measured.value == 1
    assert "does not count" in measured.reason


@pytest.mark.parametrize(("measure", "expected"), [("recall", 2 / 3), ("f1", 2 * 2 / 6), ("exact", 0)])
async def test_several_labels_are_compared_as_the_scenario_asks(measure: str, expected: float) -> None:
    output = {"labels": ["prices", "hours", "menu"]}
    assert (await score("LabelsMetric", SKILLS, output, measure=measure)).value == pytest.approx(expected)


@pytest.mark.parametrize("output", [None, {"label": "hours"}, {"labels": "hours"}, {"labels": ["hours", 3]}])
@pytest.mark.parametrize("expect", [SKILLS, Expectation(labels=())])
async def test_an_output_without_a_list_of_labels_is_wrong_also_where_none_is_expected(
    output: Any, expect: Expectation
) -> None:
    measured = await score("LabelsMetric", expect, output)
    assert measured.value == 0
    assert "no list of texts 'labels'" in measured.reason


async def test_an_empty_list_is_right_where_no_label_is_expected() -> None:
    assert (await score("LabelsMetric", Expectation(labels=()), {"labels": []})).value == 1


@pytest.mark.parametrize("name", ["LabelMetric", "LabelsMetric"])
async def test_without_a_known_label_there_is_nothing_to_measure(name: str) -> None:
    with pytest.raises(ConfigurationError, match="no turn of spa_booking says which label is right"):
        await score(name, Expectation(), {"label": "BOOKING"})


async def test_the_words_of_a_system_are_clipped() -> None:
    assert len((await score("LabelMetric", BOOKING, {"label": "x" * 10_000})).reason) < 1_000


def test_an_unknown_measure_is_refused() -> None:
    assert metric_problems("LabelsMetric", {"measure": "precision"})
