"""A trend over the further trials of a run is noted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import BASE, HEAD, Arm, Trial
from ratiba_action.verdict.trend import describe_trend, fit
from tests.support.sample_report import sample_scenario, sample_score, sample_scored

REFERENCE = json.loads((Path(__file__).parent / "lines_of_least_squares.json").read_text("utf-8"))
WAVES = (0.0, 0.03, -0.03, 0.01, -0.02)


@pytest.mark.parametrize("case", REFERENCE["cases"])
def test_slope_and_p_value_are_those_of_scipy(case: dict[str, Any]) -> None:
    found = fit(case["places"], case["values"])
    assert [found.slope, found.p] == pytest.approx([case["slope"], case["p"]])


def test_what_does_not_vary_has_no_trend() -> None:
    assert (fit([0, 1, 2], [0.5, 0.5, 0.5]).p, fit([1, 1, 1], [0.4, 0.5, 0.6]).p) == (1, 1)
    assert fit([0, 1, 2], [0.0, 0.5, 1.0]).p == 0


def results(slope: float, scenarios: int = 24) -> list[ScenarioResult]:
    """A round of further trials whose scores change by ``slope`` from one pair to the next."""
    found: list[ScenarioResult] = []
    for number in range(scenarios):
        scenario, value = sample_scenario(f"s{number:02}"), 0.7 + 0.01 * number
        for arm in (BASE, HEAD):
            planned = Trial(scenario, Arm(arm, arm), 0)
            score = replace(sample_score(), value=value + WAVES[number % 5])
            found.append(replace(sample_scored(), trial=planned, scores=(score,)))
            later = replace(score, value=value + slope * number + WAVES[(number + 2) % 5])
            place = 2 * number + (arm == HEAD)
            found.append(replace(sample_scored(), trial=replace(planned, number=1), scores=(later,), place=place))
    return found


@pytest.mark.parametrize(("slope", "word"), [(-0.01, "fell by about 2"), (0.01, "rose by about 2")])
def test_scores_that_change_over_time_are_noted_with_how_much(slope: float, word: str) -> None:
    assert f"scores {word}" in describe_trend(results(slope))


def test_without_a_trend_or_with_few_pairs_nothing_is_said() -> None:
    assert describe_trend(results(0.0)) == ""
    assert describe_trend(results(-0.05, 12)) == ""
    assert describe_trend([one for one in results(-0.01) if one.trial.arm.name == HEAD]) == ""
