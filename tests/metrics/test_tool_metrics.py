"""Metrics of an agent's tool calls, on counted examples, scikit-learn's F1 and properties."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.registry import load_metric
from ratiba_action.model.conversation import ToolCall
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.scenario import Expectation, ExpectedTool
from tests.support.cases import case, exchange

NAMES = st.lists(st.sampled_from("abc"), max_size=6)
METRICS = ("ToolCallF1Metric", "ToolCallAccuracyMetric", "StepEfficiencyMetric")


def conversation(*turns: tuple[str, str]) -> Case:
    """A case of turns as (expected, made): each letter is a call of the tool of that name."""
    return case(
        *(
            exchange(
                "?",
                "!",
                *(ToolCall(name, {}) for name in made),
                expect=Expectation(tools=tuple(ExpectedTool(name) for name in expected)),
            )
            for expected, made in turns
        )
    )


async def measure(metric: str, measured: Case) -> Score:
    return await load_metric(metric).measure(measured, 0.8)


@pytest.mark.parametrize(
    ("expected", "made", "f1", "accuracy", "efficiency"),
    [
        ("ab", "ab", 1, 1, 1),
        ("ab", "ba", 1, 1 / 2, 1),
        ("ab", "a", 2 / 3, 1 / 2, 1 / 2),
        ("ab", "aab", 4 / 5, 2 / 3, 2 / 3),
        ("ab", "aabb", 2 / 3, 1 / 2, 1 / 2),
        ("ab", "", 0, 0, 0),
        ("", "", 1, 1, 1),
        ("", "a", 0, 0, 0),
        ("abc", "xbc", 2 / 3, 2 / 3, 2 / 3),
    ],
)
async def test_counted_examples(expected: str, made: str, f1: float, accuracy: float, efficiency: float) -> None:
    scores = [await measure(metric, conversation((expected, made))) for metric in METRICS]
    assert [score.value for score in scores] == pytest.approx([f1, accuracy, efficiency])


@given(NAMES, NAMES)
async def test_f1_agrees_with_scikit_learn(expected: list[str], made: list[str]) -> None:
    wanted, got = Counter(expected), Counter(made)
    pairs: list[tuple[int, int]] = []
    for name in "abc":
        both = min(wanted[name], got[name])
        pairs += [(1, 1)] * both + [(1, 0)] * (wanted[name] - both) + [(0, 1)] * (got[name] - both)
    score = await measure("ToolCallF1Metric", conversation(("".join(expected), "".join(made))))
    truth, predicted = [one for one, _ in pairs], [other for _, other in pairs]
    assert score.value == pytest.approx(f1_score(truth, predicted, zero_division=1.0) if pairs else 1.0)


@given(st.lists(st.tuples(NAMES.map("".join), NAMES.map("".join)), min_size=1, max_size=3))
async def test_every_value_is_within_0_and_1_and_order_is_the_stricter(turns: list[tuple[str, str]]) -> None:
    f1, accuracy, efficiency = [(await measure(metric, conversation(*turns))).value for metric in METRICS]
    assert 0 <= accuracy <= 1
    assert 0 <= efficiency <= f1 <= 1


async def test_a_call_in_another_turn_counts_for_f1_and_not_for_accuracy() -> None:
    late = conversation(("a", ""), ("", "a"))
    assert (await measure("ToolCallF1Metric", late)).value == 1
    assert (await measure("ToolCallAccuracyMetric", late)).value == 0


async def test_as_many_calls_as_can_be_are_matched_when_one_expectation_is_wider() -> None:
    wide, narrow = ExpectedTool("find"), ExpectedTool("find", {"k": 1})
    calls = (ToolCall("find", {"k": 1}), ToolCall("find", {"k": 2}))
    held = case(exchange("?", "!", *calls, expect=Expectation(tools=(wide, narrow))))
    assert (await measure("ToolCallF1Metric", held)).value == 1


async def test_the_calls_of_a_turn_without_tools_are_neither_right_nor_wrong() -> None:
    spoken = exchange("?", "!", ToolCall("a", {}), expect=Expectation(tools=(ExpectedTool("a"),)))
    free = exchange("?", "!", ToolCall("b", {}))
    assert [(await measure(metric, case(spoken, free))).value for metric in METRICS] == [1, 1, 1]


async def test_part_of_the_arguments_may_be_right() -> None:
    expect = Expectation(tools=(ExpectedTool("pay", {"amount": 10, "at": "2026-04-25T10:00"}), ExpectedTool("log")))
    made = (ToolCall("pay", {"amount": 9, "at": "2026-04-25T10:00:00+03:00"}), ToolCall("log", {"a": 1}))
    score = await measure("ToolArgumentMetric", case(exchange("?", "!", *made, expect=expect)))
    assert score.value == 1 / 2
    assert score.reason == "turn 1: pay without the expected amount"


async def test_the_arguments_of_a_call_that_was_not_made_are_wrong() -> None:
    expect = Expectation(tools=(ExpectedTool("pay", {"amount": 10}), ExpectedTool("pay", {"amount": 20})))
    score = await measure(
        "ToolArgumentMetric", case(exchange("?", "!", ToolCall("pay", {"amount": 20}), expect=expect))
    )
    assert score.value <= 1 / 2


@pytest.mark.parametrize("metric", [*METRICS, "ToolArgumentMetric"])
async def test_without_expected_tools_nothing_is_measured(metric: str) -> None:
    with pytest.raises(ConfigurationError, match=r"nothing to measure.*expect\.tools"):
        await measure(metric, case(exchange("?", "!", ToolCall("a", {}))))


async def test_the_reason_names_what_was_missing_and_what_was_not_expected() -> None:
    score = await measure("ToolCallF1Metric", conversation(("ab", "ac")))
    assert score.reason == "1 of 2 expected calls made, 2 made in all; missing: b; not expected: c"
