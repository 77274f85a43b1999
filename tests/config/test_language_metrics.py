from dataclasses import replace

import pytest

from ratiba_action.config.metrics_block import attach_language_metrics
from ratiba_action.model.scenario import Assertion, Layer, SystemType
from tests.support.cases import case


@pytest.mark.parametrize(
    ("language", "attached"),
    [
        ("sw", (Assertion("SwahiliFluencyMetric", 0.80, 3),)),
        ("mixed", (Assertion("SwahiliFluencyMetric", 0.80, 3),)),
        ("en", (Assertion("EnglishFluencyMetric", 0.80, 3),)),
        ("fr", ()),
    ],
)
def test_the_language_attaches_its_fluency_metric(language: str, attached: tuple[Assertion, ...]) -> None:
    assert attach_language_metrics(replace(case(language=language).scenario, line=3)) == attached


def test_a_listed_threshold_stands_and_other_metrics_stay() -> None:
    listed = (Assertion("BookingSlotConsistencyMetric", 1.0), Assertion("SwahiliFluencyMetric", 0.9))
    assert attach_language_metrics(replace(case(language="sw").scenario, assertions=listed)) == listed


@pytest.mark.parametrize("system_type", [SystemType.SEARCH, SystemType.CLASSIFIER])
def test_a_system_that_answers_without_prose_gets_none(system_type: SystemType) -> None:
    assert attach_language_metrics(replace(case(language="sw").scenario, system_type=system_type)) == ()


def test_a_scripted_model_gets_none() -> None:
    assert attach_language_metrics(replace(case(language="en").scenario, layer=Layer.FSM)) == ()


def test_a_scenario_can_turn_its_own_off() -> None:
    assert attach_language_metrics(replace(case(language="en").scenario, fluency=False)) == ()


def test_the_house_style_is_that_of_added_and_of_listed_english_metrics_that_name_none() -> None:
    style = {"audience": "guests of a hotel"}
    english = replace(case(language="en").scenario, line=3)
    added = Assertion("EnglishFluencyMetric", 0.80, 3, style)
    assert attach_language_metrics(english, "guests of a hotel") == (added,)
    listed = (Assertion("EnglishFluencyMetric", 0.9), Assertion("EnglishFluencyMetric", 0.7, 0, {"audience": "x"}, "x"))
    attached = attach_language_metrics(replace(english, assertions=listed), "guests of a hotel")
    assert [assertion.parameters for assertion in attached] == [style, {"audience": "x"}]
    swahili = attach_language_metrics(case(language="sw").scenario, "guests of a hotel")
    assert [assertion.parameters for assertion in swahili] == [{}]
