"""One metric twice in a scenario, told apart by name: from its file to the comment."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.config.metrics_block import MetricsBlock, attach_metrics
from ratiba_action.config.suite_block import unmeasured_metrics
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.aggregates import CaseSample, aggregate
from ratiba_action.metrics.registry import load_metric, metric_problems
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.case_file import CaseThreshold
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.conversation import Reply
from ratiba_action.model.measurement import Scored
from ratiba_action.model.plan import Arm, Plan, Trial
from ratiba_action.model.scenario import Assertion, Scenario, Suite
from ratiba_action.publish.annotations import annotations_of
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.summary import summarise
from ratiba_action.run.inputs import RunLog
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import Arms, ArmServices, RunServices
from ratiba_action.suite.load import load_suite
from ratiba_action.suite.ratchet import ratchet_suite
from ratiba_action.suite.thresholds import threshold_problems
from ratiba_action.verdict.pairing import pair_up
from ratiba_action.verdict.rules.metric_means import metric_values
from tests.support.gateways import InMemoryGateway
from tests.support.progress import RecordedProgress
from tests.support.sample_report import sample_report
from tests.support.systems import ScriptedSystem
from tests.support.tenants import InMemoryTenants

FILE = (Path(__file__).parents[1] / "examples" / "metrics" / "named.yaml").read_bytes()
PYTHON, JSON = "CodeSyntaxMetric list-in-python", "CodeSyntaxMetric list-in-json"
HEAD = Arm("head", "repository")


def loaded(content: bytes = FILE) -> Suite:
    return load_suite({"scenarios/named.yaml": content}, metric_problems, validate_rule)


async def held(scenario: Scenario) -> Scored:
    """Its conversation, measured as a run measures it; the reply is the captured one."""
    (text,) = scenario.replies
    system, tenants = ScriptedSystem({scenario.id: [Reply(text)]}), InMemoryTenants()
    await system.start()
    await tenants.start()
    await tenants.prepare(HEAD, system.migrate)
    services = RunServices(
        Arms({"head": ArmServices(HEAD, system, prompt_versions=("p@1",))}),
        tenants,
        InMemoryGateway(),
        lambda one: load_metric(one.metric, None, one.parameters),
        RunLog(RecordedProgress()),
    )
    (result,) = await run_plan(Plan((Trial(scenario, HEAD),)), services)
    assert isinstance(result, Scored)
    return result


def thresholds(scenario: Scenario) -> Mapping[str, float]:
    return {one.label: one.threshold for one in scenario.assertions}


def test_both_are_loaded_with_their_own_thresholds_and_parameters() -> None:
    (scenario,) = loaded().scenarios
    assert thresholds(scenario) == {PYTHON: 1.0, JSON: 0.5}
    assert [one.parameters["language"] for one in scenario.assertions] == ["python", "json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            FILE.replace(b"name: list-in-json, ", b"name: list-in-python, "),
            "duplicate metric.*give each a different `name`",
        ),
        (FILE.replace(b"name: list-in-json, ", b"name: Prices of today, "), "assertions.1.name"),
        (FILE.replace(b"name: list-in-json, ", b"name: '', "), "assertions.1.name"),
    ],
)
def test_names_that_do_not_tell_them_apart_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        loaded(content)


async def test_each_has_its_score_its_mean_and_its_place_in_the_comment() -> None:
    (scenario,) = loaded().scenarios
    result = await held(scenario)
    assert {score.metric: (score.value, score.passed) for score in result.scores} == {
        PYTHON: (1.0, True),
        JSON: (0.0, False),
    }
    assert metric_values([result]) == {PYTHON: [1.0], JSON: [0.0]}
    report = sample_report(results=(result,))
    comment = render_comment(summarise(report))
    assert all(name in comment for name in (PYTHON, JSON))
    line = next(one.line for one in scenario.assertions if one.label == JSON)
    (rendered,) = [one for one in annotations_of(summarise(report)) if JSON in one.message]
    assert rendered.line == line


def test_a_threshold_of_the_suite_is_set_by_the_label() -> None:
    assert unmeasured_metrics([PYTHON, JSON, "CodeSyntaxMetric"], loaded()) == ("CodeSyntaxMetric",)


async def test_a_gate_of_a_data_set_is_set_by_the_label() -> None:
    (scenario,) = loaded().scenarios
    assert list(threshold_problems([CaseThreshold(JSON, 0.5), CaseThreshold(PYTHON, 0.5)], scenario)) == []
    ((_, wrong),) = threshold_problems([CaseThreshold("CodeSyntaxMetric", 0.5)], scenario)
    assert "unknown threshold 'CodeSyntaxMetric'; known: " in wrong
    assert JSON in wrong
    samples = [CaseSample(scores={score.metric: score.value for score in (await held(scenario)).scores})]
    assert [aggregate(name)(samples) for name in (PYTHON, JSON)] == [1.0, 0.0]


def test_the_base_holds_each_by_itself() -> None:
    (before,) = loaded().scenarios
    strict, lax = before.assertions
    head = replace(before, assertions=(replace(strict, threshold=0.1), replace(lax, threshold=0.9)))
    (kept,) = ratchet_suite(replace(loaded(), scenarios=(head,)), loaded())[0].scenarios
    assert thresholds(kept) == {PYTHON: 1.0, JSON: 0.9}


def test_another_name_or_another_metric_does_not_take_the_place_of_the_bases() -> None:
    (before,) = loaded().scenarios
    other = (Assertion("CodeSyntaxMetric", 0.0, name="renamed"), Assertion("KeyPhraseMetric", 0.0, name="list-in-json"))
    (kept,) = ratchet_suite(replace(loaded(), scenarios=(replace(before, assertions=other),)), loaded())[0].scenarios
    assert thresholds(kept) == {PYTHON: 1.0, JSON: 0.5, **{one.label: 0.0 for one in other}}


def test_what_the_configuration_lists_is_added_beside_the_named_ones() -> None:
    (scenario,) = loaded().scenarios
    block = MetricsBlock.model_validate({"chatbot": [{"metric": "CodeSyntaxMetric", "threshold": 0.7}]})
    assert [one.label for one in attach_metrics(scenario, block)] == [PYTHON, JSON, "CodeSyntaxMetric"]


async def test_the_comparison_with_the_base_keeps_them_apart() -> None:
    (scenario,) = loaded().scenarios
    result = await held(scenario)
    better = replace(result, scores=tuple(replace(score, value=1.0) for score in result.scores))
    runs = [
        MeasuredRun("a1b2c3d", datetime(2026, 4, 25, tzinfo=UTC), "j", AnswerOrigin.LIVE, (one,))
        for one in (better, result)
    ]
    ((pair,), problems) = pair_up(runs[:1], runs[1:])
    assert pair.metrics == {JSON: (0.0, 1.0), PYTHON: (1.0, 1.0)}
    assert problems == ()
