"""``strategy: {type: statistical}`` in a scenario file: both spellings, and every mistake at its line."""

from typing import Any

import pytest
from pydantic import ValidationError

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.config.suite_block import SuiteBlock
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.registry import metric_problems, readers_of
from ratiba_action.model.own_history import Statistical
from ratiba_action.model.scenario import Scenario, Strategy
from ratiba_action.suite.load import load_suite
from ratiba_action.suite.scenario_selection import with_defaults
from ratiba_action.verdict.pairing import content_digest
from tests.support.sample_report import sample_scenario

HEAD = """\
id: refund
language: en
turns:
  - {user: How long does a refund take?, expect: {key_phrases: [30 days]}}
assertions:
  - {metric: KeyPhraseMetric, threshold: 0.5}
  - {metric: GEval, name: prices, threshold: 0.7, with: {criterion: prices, steps: [Prices are right.]}}
rules:
  - {type: must_refuse, value: {judge: true}}
"""


def load(text: str) -> Scenario:
    files = {"scenarios/refund.yaml": text.encode()}
    return load_suite(files, metric_problems, validate_rule, readers_of, {"chatbot": ["ToxicityMetric"]}).scenarios[0]


def problems(text: str) -> list[str]:
    with pytest.raises(SuiteError) as raised:
        load(text)
    return [str(problem) for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("statistical", Statistical()),
        ("{type: statistical}", Statistical()),
        ("{type: statistical, baseline_window: 30d, confidence_level: 0.9}", Statistical(None, 30, 0.9)),
        ("{type: statistical, baseline_window: 8w}", Statistical(None, 56)),
        ("{like: statistical, baseline_window: 40, confidence: 0.9}", Statistical(40, None, 0.9)),
        (
            "{type: statistical, metrics: [GEval prices, EnglishFluencyMetric, ToxicityMetric]}",
            Statistical(metrics=("GEval prices", "EnglishFluencyMetric", "ToxicityMetric")),
        ),
    ],
)
def test_the_history_is_a_number_of_values_or_their_age(written: str, meant: Statistical) -> None:
    scenario = load(f"{HEAD}strategy: {written}\n")
    assert scenario.strategy.statistical == meant
    assert content_digest(scenario) == content_digest(load(HEAD)), "what it passes by changes no score"


def test_every_mistake_is_reported_at_once_with_its_line() -> None:
    wrong = """\
strategy:
  type: statistical
  metrics:
    - KeyPhraseMetric
    - GEval
    - RefusalByJudgeMetric
    - EnglishFluencyMetric
  baseline_window: 400d
  confidence: 1.0
"""
    known = "judged here: EnglishFluencyMetric, GEval prices, ToxicityMetric"
    found = problems(HEAD + wrong)
    assert [problem.partition(": ")[0] for problem in found] == [
        f"scenarios/refund.yaml:{line}" for line in (13, 14, 15, 17, 18)
    ], found
    assert f"'KeyPhraseMetric' is deterministic, so its threshold decides; {known}" in found[0]
    assert f"'GEval' is no metric of this scenario; {known}" in found[1]
    assert f"'RefusalByJudgeMetric' is no metric of this scenario; {known}" in found[2]
    assert "baseline_window" in found[3]
    assert "confidence" in found[4]


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("{type: normal}", "'normal' is not allowed; allowed: 'statistical'"),
        (
            "{confidence: 0.9, metrics: []}",
            "confidence, metrics only mean something with `type: statistical`; add that",
        ),
        ("{like: strict, confidence_level: 0.9}", "confidence_level only means something with `type: statistical`"),
        ("{type: statistical, min_mean: 0.5}", "and min_mean both say what scores pass by; remove one"),
        ("{type: statistical, baseline_window: 12}", "a confidence of 0.95 needs at least 19 values"),
        ("{type: statistical, confidence: 0.9, confidence_level: 0.9}", "unknown key; did you mean"),
    ],
)
def test_what_cannot_be_meant_is_refused(strategy: str, message: str) -> None:
    (found,) = problems(f"{HEAD}strategy: {strategy}\n")
    assert message in found


def test_a_critical_scenario_is_exact() -> None:
    (found,) = problems(f"critical: true\n{HEAD}strategy: statistical\n")
    assert "a critical scenario cannot have strategy.type; remove them, or remove `critical`" in found


def block(**given: Any) -> Strategy:
    return SuiteBlock.model_validate(given).defaults


def test_a_suites_default_applies_where_nothing_else_stands_for_thresholds() -> None:
    defaults = block(strategy={"like": "statistical", "retries": 1})
    assert with_defaults(sample_scenario("spa"), defaults).strategy == Strategy(retries=1, statistical=Statistical())
    assert with_defaults(sample_scenario("spa", critical=True), defaults).strategy.statistical is None
    mean = sample_scenario("spa", strategy=Strategy(min_mean=0.5, given=frozenset({"min_mean"})))
    assert with_defaults(mean, defaults).strategy.statistical is None
    own = sample_scenario("spa", strategy=Strategy(statistical=Statistical(40)))
    assert with_defaults(own, defaults).strategy.statistical == Statistical(40)
    assert with_defaults(own, block(**{"pass": "mean"})).strategy.min_mean is None


def test_a_suite_passes_by_one_thing() -> None:
    with pytest.raises(ValidationError, match="both say what scores pass by"):
        block(**{"pass": "mean", "strategy": "statistical"})
