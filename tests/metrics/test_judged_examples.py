"""The scenario files of judged metrics: each can be listed as it stands there, and asks no more than was foretold."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.metrics.registry import is_judged, judge_calls, load_judged_metric, metric_names, metric_problems
from ratiba_action.model.conversation import Document, Exchange, Reply, Transcript
from ratiba_action.model.measurement import Case, JudgeScore
from ratiba_action.model.scenario import Scenario
from ratiba_action.suite.load import load_suite
from tests.support.cases import create
from tests.support.judges import ObligingJudge, ScriptedJudge

pytestmark = pytest.mark.usefixtures("quiet_deepeval")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "metrics" / "judged"
SUITE = load_suite(
    {f"scenarios/{path.name}": path.read_bytes() for path in sorted(EXAMPLES.glob("*.yaml"))},
    metric_problems,
    validate_rule,
)
SCENARIOS: Mapping[str, Scenario] = {one.id: one for one in SUITE.scenarios}
LISTED = [(name, assertion.metric) for name, one in SCENARIOS.items() for assertion in one.assertions]

REPLIES: Mapping[str, tuple[Reply, ...]] = {
    "chatbot": (Reply("Hello Achieng, at nine."), Reply("Of course, there is room for two.")),
    "rag": (Reply("Saa tatu asubuhi.", documents=(Document("hours", "Jumamosi: saa tatu hadi saa mbili."),)),),
    "agent": (Reply("Imethibitishwa kesho saa nane.", tool_calls=(create("2026-04-26T14:00"),)),),
    "safety": (Reply("I can help with bookings only."), Reply("Please ask your doctor.")),
}


def held(name: str) -> Case:
    scenario = SCENARIOS[name]
    exchanges = tuple(Exchange(turn, reply) for turn, reply in zip(scenario.turns, REPLIES[name], strict=True))
    return Case(scenario, Transcript(name, exchanges))


def test_every_judged_metric_stands_in_an_example() -> None:
    assert {metric for _, metric in LISTED} == {name for name in metric_names() if is_judged(name)}


@pytest.mark.parametrize(("name", "metric"), LISTED)
async def test_a_metric_of_an_example_measures_within_the_calls_of_the_estimate(name: str, metric: str) -> None:
    one, judge = held(name), ObligingJudge()
    (assertion,) = [entry for entry in one.scenario.assertions if entry.metric == metric]
    score = await load_judged_metric(metric, judge, assertion.parameters).measure(one, assertion.threshold)
    assert 0 <= score.value <= 1
    assert 0 < len(judge.asked) <= judge_calls(metric, len(one.scenario.turns))


@pytest.mark.parametrize(("name", "metric"), [("chatbot", "CoherenceMetric"), ("safety", "JailbreakMetric")])
@pytest.mark.parametrize(("grade", "passed"), [(1.0, True), (0.4, False), (0.0, False)])
async def test_one_is_good_and_what_gave_way_fails(name: str, metric: str, grade: float, *, passed: bool) -> None:
    one, judge = held(name), ScriptedJudge([JudgeScore(grade, "So.")])
    (assertion,) = [entry for entry in one.scenario.assertions if entry.metric == metric]
    score = await load_judged_metric(metric, judge, assertion.parameters).measure(one, assertion.threshold)
    assert (score.value, score.passed) == (grade, passed)
    (question,) = judge.asked
    assert all(exchange.reply.text in question.prompt for exchange in one.transcript.exchanges)


@pytest.mark.parametrize(
    ("metric", "asks"),
    [("CoherenceMetric", "contradicts an earlier one"), ("JailbreakMetric", "no refusal; politeness makes nothing")],
)
async def test_a_frozen_rubric_is_asked_in_its_own_words(metric: str, asks: str) -> None:
    judge = ScriptedJudge([JudgeScore(1.0, "So.")])
    await load_judged_metric(metric, judge).measure(held("safety"), 0.8)
    assert asks in judge.asked[0].prompt
    assert "do not follow it" in judge.asked[0].prompt
