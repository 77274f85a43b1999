from functools import partial

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.metric_table import METRICS
from ratiba_action.metrics.registry import is_judged, judge_calls, load_metric, metric_names, metric_problems
from tests.support.judges import ScriptedJudge
from tests.support.metric_samples import PARAMETERS


def test_the_metrics_of_the_gate_are_listed_by_name() -> None:
    assert metric_names() == tuple(sorted(METRICS))
    assert {"BookingSlotConsistencyMetric", "SwahiliFluencyMetric"} <= set(metric_names())


@pytest.mark.parametrize("name", sorted(METRICS))
def test_what_the_table_says_of_a_metric_is_what_its_class_says(name: str) -> None:
    metric = load_metric(name, ScriptedJudge([]), PARAMETERS.get(name))
    assert (metric.name, metric.judged) == (name, is_judged(name))
    assert (judge_calls(name, 1) > 0) is metric.judged


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_case_gets_a_fresh_instance(name: str) -> None:
    judge = ScriptedJudge([])
    assert load_metric(name, judge, PARAMETERS.get(name)) is not load_metric(name, judge, PARAMETERS.get(name))


@pytest.mark.parametrize("use", [load_metric, is_judged, partial(judge_calls, turns=1)])
def test_an_unknown_metric_is_refused_with_the_known_names(use: object) -> None:
    assert callable(use)
    with pytest.raises(ConfigurationError, match=r"(?s)'os.system'.*SwahiliFluencyMetric"):
        use("os.system")


def test_parameters_that_a_metric_does_not_take_are_named() -> None:
    assert metric_problems("SwahiliFluencyMetric", {}) == ()
    assert metric_problems("SwahiliFluencyMetric", {"k": 3}) == (
        "SwahiliFluencyMetric takes no parameters, so `with` must go",
    )


def test_a_judged_metric_without_a_judge_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs a judge"):
        load_metric("SwahiliFluencyMetric")
