"""Evaluators that the sources name: tools over several turns, translation, fluency in any language, single classes."""

import json

import pytest

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.aggregates import CaseSample, Labelled, aggregate
from ratiba_action.metrics.fluency import steps_for
from ratiba_action.metrics.registry import load_judged_metric, load_metric, metric_problems, recorded_as
from ratiba_action.model.conversation import Exchange, Reply, ToolCall, Transcript
from ratiba_action.model.measurement import Case, JudgeScore, Score
from ratiba_action.model.scenario import Expectation, ExpectedTool, Turn
from ratiba_action.suite.load import load_suite
from tests.support.judges import ScriptedJudge
from tests.support.sample_report import sample_scenario


def case(*turns: tuple[Turn, Reply]) -> Case:
    return Case(sample_scenario("a"), Transcript("a", tuple(Exchange(turn, reply) for turn, reply in turns)))


async def consistency(*turns: tuple[Turn, Reply]) -> Score:
    metric = load_metric("ToolConsistencyMetric", None, {"arguments": ["city", "guests"]})
    return await metric.measure(case(*turns), 1.0)


def calling(*calls: tuple[str, dict[str, object]]) -> Reply:
    return Reply("", tool_calls=tuple(ToolCall(name, args) for name, args in calls))


async def test_a_value_that_changes_between_turns_is_inconsistent_unless_the_turn_expects_it() -> None:
    search, kisumu = (Turn("Hotels in Kisumu for two"), calling(("search", {"city": "Kisumu", "guests": 2})))
    same = Turn("The first one"), calling(("book", {"city": "Kisumu", "hotel": 1, "guests": 2}))
    other = Turn("The first one"), calling(("book", {"city": "Nakuru", "hotel": 1, "guests": 2}))
    assert (await consistency((search, kisumu), same)).value == 1
    score = await consistency((search, kisumu), other)
    assert (score.value, score.passed) == (0.5, False)
    assert "turn 2: book has city 'Nakuru', before it was 'Kisumu'" in score.reason
    expected = Expectation(tools=(ExpectedTool("book", {"city": "Nakuru"}),))
    changed = Turn("No, in Nakuru", expect=expected), other[1]
    assert (await consistency((search, kisumu), changed)).value == 1
    assert (await consistency((search, kisumu), changed, same)).value == pytest.approx(0.75)
    assert (await consistency((search, kisumu))).value == 1


def test_arguments_that_are_compared_have_to_be_named() -> None:
    assert metric_problems("ToolConsistencyMetric", {})
    assert metric_problems("ToolConsistencyMetric", {"arguments": []})


async def test_a_translation_is_judged_without_a_reference_from_text_and_reply() -> None:
    judge = ScriptedJudge([JudgeScore(0.5, "The amount changed.")])
    source = Turn("Translate into French: The deposit is 300 euros.")
    judged = load_judged_metric("TranslationAccuracyMetric", judge)
    score = await judged.measure(case((source, Reply("L'acompte est de 30 euros."))), 0.8)
    assert (score.value, score.passed) == (0.5, False)
    (question,) = judge.asked
    assert "The deposit is 300 euros." in question.prompt
    assert "L'acompte est de 30 euros." in question.prompt


def test_the_rubric_of_a_language_names_it_and_its_scores_are_its_own() -> None:
    assert "ISO 639 code 'pt'" in " ".join(steps_for("pt", None))
    assert "guests of a hotel" in " ".join(steps_for("pt", "guests of a hotel"))
    names = {recorded_as("FluencyMetric", {"language": language}) for language in ("pt", "fr")}
    assert len(names) == 2
    assert metric_problems("FluencyMetric", {"language": "Portuguese. Give 10"})


SAMPLES = [
    CaseSample(labelled=(Labelled(frozenset({expected}), frozenset({given})),))
    for expected, given in (("LEARN", "LEARN"), ("LEARN", "SUPPORT"), ("SUPPORT", "SUPPORT"), ("SUPPORT", "SUPPORT"))
]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("precision.LEARN", 1.0),
        ("recall.LEARN", 0.5),
        ("precision.SUPPORT", 2 / 3),
        ("recall.SUPPORT", 1.0),
        ("f1.SUPPORT", 0.8),
        ("macro_precision", 5 / 6),
        ("macro_recall", 0.75),
        ("recall.OTHER", None),
    ],
)
def test_a_class_has_thresholds_of_its_own(name: str, value: float | None) -> None:
    assert aggregate(name)(SAMPLES) == (None if value is None else pytest.approx(value))


def test_a_threshold_that_decides_is_one_of_answer_accuracy_and_of_no_critical_scenario() -> None:
    def load(gate: dict[str, object], **more: object) -> None:
        turn = {"user": "${message}", "expect": {"contains": "yes"}}
        file = {"id": "a", "language": "fr", "cases": "a.jsonl", "turns": [turn], "gates": [gate], **more}
        content = {"scenarios/a.yaml": json.dumps(file).encode(), "scenarios/a.jsonl": b'{"message": "Hello"}\n'}
        load_suite(content, metric_problems, validate_rule)

    deciding = {"metric": "answer_accuracy", "at_least": 0.7, "decides": True}
    load(deciding)
    with pytest.raises(SuiteError, match="only the threshold of answer_accuracy can decide"):
        load({**deciding, "metric": "macro_f1"})
    with pytest.raises(SuiteError, match="a critical scenario cannot have gates that decide"):
        load(deciding, critical=True)
