"""The configuration's ``suite`` block: what a change cannot decide, and what a replay needs."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from ratiba_action.config.suite_block import SuiteBlock
from ratiba_action.errors import SuiteError
from ratiba_action.llm.recordings.folder import require_recorded_trials
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.model.scenario import Strategy
from tests.support.sample_report import sample_scenario


def block(**given: Any) -> SuiteBlock:
    return SuiteBlock.model_validate(given)


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ("strict", "'strict' is not allowed; give 'standard', or thresholds by name"),
        ({"macro_f2": 0.5}, "unknown threshold 'macro_f2'; known: accuracy, macro_f1"),
        ({"LabelMetric": 0.5}, "unknown threshold 'LabelMetric'"),
        ({"macro_f1": 1.5}, "less than or equal to 1"),
    ],
)
def test_a_gate_that_cannot_work_is_refused(gates: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(message)):
        block(gates=gates)


@pytest.mark.parametrize(("given", "maximum"), [(False, None), (True, 1), ({"after": 3}, 3)])
def test_a_run_stops_never_or_after_so_many_failed_scenarios(given: Any, maximum: int | None) -> None:
    assert block(stop_on_failure=given).max_failed == maximum


def answers(trial: int) -> ModelRecording:
    return ModelRecording("key", 0, "live", "openai", "gpt-5", "hello", "0" * 12, {}, trial=trial)


def test_a_replay_with_too_few_recorded_trials_is_reported_for_every_scenario() -> None:
    scenarios = [sample_scenario(name, strategy=Strategy(trials=3)) for name in ("one", "none", "enough")]
    recorded = {"one": (answers(0),), "enough": (answers(0), answers(1), answers(2))}
    with pytest.raises(SuiteError) as raised:
        require_recorded_trials(scenarios, recorded, "scenarios/recordings")
    assert str(raised.value) == (
        "scenarios/recordings/one.jsonl: 1 trial is recorded, and 3 are asked for; "
        "record them with 'ratiba record --scenario one --accept'"
    )


@pytest.mark.parametrize(
    ("given", "strategy"),
    [
        ("majority", {"trials": 3, "passes": 2}),
        ({"like": "majority", "retries": 1}, {"trials": 3, "passes": 2, "retries": 1}),
        ({"like": "patient", "timeout_seconds": 9}, {"timeout_seconds": 9, "retries": 2}),
        ("mean", {"min_mean": 0.5}),
        ("strict", {"trials": 3}),
    ],
)
def test_a_strategy_has_a_name_or_starts_from_one(given: Any, strategy: dict[str, Any]) -> None:
    assert block(strategy=given) == block(strategy=strategy)


@pytest.mark.parametrize("given", ["flaky", {"like": "flaky"}, {"like": 3}])
def test_a_strategy_of_no_such_name_is_refused_with_those_there_are(given: Any) -> None:
    with pytest.raises(ValidationError, match="is no strategy; known: strict, majority, mean, patient"):
        block(strategy=given)


def test_the_mean_of_a_suite_is_a_default_that_a_strategy_may_set_higher() -> None:
    assert block().defaults.min_mean is None
    assert block(**{"pass": "mean"}).defaults.min_mean == 0.5
    assert block(**{"pass": "mean", "strategy": {"min_mean": 0.8}}).defaults.min_mean == 0.8
    with pytest.raises(ValidationError, match="'each' or 'mean'"):
        block(**{"pass": "median"})
