from dataclasses import replace

import pytest

from ratiba_action.config.metrics_block import attach_language_metrics
from ratiba_action.model.scenario import Assertion, SystemType
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
