"""The configuration's ``metrics`` block: what scenarios are measured by without listing it."""

from dataclasses import replace
from typing import Any

import pytest

from ratiba_action.config.configuration import read_configuration
from ratiba_action.config.metrics_block import MetricsBlock, attach_metrics, metrics_without_truth
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.metric_table import STANDARD
from ratiba_action.metrics.registry import made_for, metric_problems
from ratiba_action.model.scenario import Assertion, Expectation, Scenario, Suite, SystemType, Turn
from tests.support.sample_report import sample_scenario


def block(**given: Any) -> MetricsBlock:
    return MetricsBlock.model_validate(given)


def listed(metric: str, threshold: float, **parameters: Any) -> dict[str, Any]:
    return {"metric": metric, "threshold": threshold, **({"with": parameters} if parameters else {})}


def search(name: str = "finds", **expected: Any) -> Scenario:
    turns = (Turn(user="bread", expect=Expectation(**expected)),)
    return replace(sample_scenario(name), system_type=SystemType.SEARCH, turns=turns, assertions=())


RELEVANT: dict[str, Any] = {"documents": {"loaf": 1.0}}


@pytest.mark.parametrize("system_type", STANDARD)
def test_the_standard_metrics_are_made_for_their_system_and_need_no_parameters(system_type: SystemType) -> None:
    for metric, threshold in STANDARD[system_type]:
        assert system_type in made_for(metric)
        assert metric_problems(metric, {}) == ()
        assert 0 < threshold <= 1


def test_the_word_standard_stands_for_the_table() -> None:
    attached = attach_metrics(search(**RELEVANT), block(search="standard"))
    assert [(one.metric, one.threshold) for one in attached] == list(STANDARD[SystemType.SEARCH])


def test_only_scenarios_of_the_type_are_measured_by_it() -> None:
    assert attach_metrics(search(**RELEVANT), block(rag="standard")) == ()


def test_what_a_scenario_lists_itself_stays() -> None:
    own = Assertion("NdcgMetric", 0.3, parameters={"k": 3})
    scenario = replace(search(**RELEVANT), assertions=(own,))
    attached = attach_metrics(scenario, block(search=[listed("NdcgMetric", 0.9), listed("MrrMetric", 0.5)]))
    assert attached == (own, Assertion("MrrMetric", 0.5, scenario.line))


def test_a_metric_whose_truth_no_turn_says_is_not_added_and_that_is_reported() -> None:
    metrics = block(search="standard")
    silent, reported = search("silent"), search("told", **RELEVANT)
    assert attach_metrics(silent, metrics) == ()
    text = list(metrics_without_truth(metrics, Suite((silent, reported), "0")))
    assert len(text) == len(STANDARD[SystemType.SEARCH])
    assert text[0] == (
        "metrics.search: 1 of 2 scenarios does not have the expected values for NdcgMetric, so it is not added: silent"
    )


def test_the_fluency_metric_can_be_left_out() -> None:
    scenario = replace(sample_scenario("talks"), language="sw", assertions=())
    assert [one.metric for one in attach_metrics(scenario, block())] == ["SwahiliFluencyMetric"]
    assert attach_metrics(scenario, block(fluency=False)) == ()


def test_every_mistake_is_reported_with_its_line() -> None:
    text = """\
system: {adapter: 'shop.adapter:Adapter'}
metrics:
  fluency: maybe
  rag:
    - {metric: FaithfulMetric, threshold: 0.8}
    - {metric: NdcgMetric, threshold: 2, with: {k: 3}}
    - {metric: MrrMetric, threshold: 0.5, with: {k: none}}
    - {metric: TerminologyMetric, threshold: 1.0, with: {catalogue: house.terms.yaml}}
  search: usual
  agent: [{metric: MrrMetric, threshold: 0.5}, {metric: MrrMetric, threshold: 0.6}]
  classifer: standard
"""
    with pytest.raises(SuiteError) as caught:
        read_configuration("ratiba.yml", text.encode())
    messages = {problem.line: problem.message for problem in caught.value.problems}
    assert sorted(messages) == [3, 5, 6, 7, 8, 9, 10, 11]
    assert "unknown metric 'FaithfulMetric'" in messages[5]
    assert "path is relative to a scenario" in messages[8]
    assert "give 'standard', or a list" in messages[9]
    assert "MrrMetric is listed twice" in messages[10]
    assert "unknown key" in messages[11]
