import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.registry import load_metric, metric_problems
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Score
from ratiba_action.model.scenario import Expectation
from tests.support.cases import case, exchange, found

SEARCH = ("NdcgMetric", "MapMetric", "MrrMetric", "PrecisionAtKMetric", "RecallAtKMetric")
TWO = Expectation(documents={"a": 1.0, "b": 1.0})


async def score(name: str, *exchanges: Exchange, **parameters: object) -> Score:
    return await load_metric(name, None, parameters).measure(case(*exchanges), 0.5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NdcgMetric", (1 + 1 / 2) / (1 + 1 / 1.5849625)),
        ("MapMetric", (1 + 2 / 3) / 2),
        ("MrrMetric", 1),
        ("PrecisionAtKMetric", 2 / 3),
        ("RecallAtKMetric", 1),
    ],
)
async def test_a_ranked_list_is_scored_from_the_documents_of_the_reply(name: str, expected: float) -> None:
    parameters = {} if name == "MrrMetric" else {"k": 3}
    measured = await score(name, found("a", "x", "b", expect=TWO), **parameters)
    assert measured.value == pytest.approx(expected)
    assert (measured.judged, measured.threshold) == (False, 0.5)


async def test_the_value_is_the_mean_of_the_turns_that_name_documents() -> None:
    turns = (found("x", expect=TWO), exchange("thanks", "bye"), found("a", expect=TWO))
    assert (await score("MrrMetric", *turns)).value == 0.5


@pytest.mark.parametrize("name", SEARCH)
async def test_a_reply_without_documents_found_nothing(name: str) -> None:
    measured = await score(name, found(expect=TWO))
    assert measured.value == 0
    assert "no documents" in measured.reason


@pytest.mark.parametrize("name", SEARCH)
@pytest.mark.parametrize("expect", [Expectation(), Expectation(documents={"a": 0.0})])
async def test_without_a_relevant_document_there_is_nothing_to_measure(name: str, expect: Expectation) -> None:
    with pytest.raises(ConfigurationError, match="nothing to measure"):
        await score(name, found("a", expect=expect))


async def test_only_the_first_k_documents_count() -> None:
    turn = found("x", "a", "b", expect=TWO)
    assert (await score("RecallAtKMetric", turn, k=1)).value == 0
    assert (await score("RecallAtKMetric", turn, k=2)).value == 0.5
    assert (await score("MrrMetric", turn, k=1)).value == 0


async def test_the_gain_of_a_grade_is_linear_unless_the_scenario_asks_for_the_exponential_one() -> None:
    turn = found("low", "high", expect=Expectation(documents={"high": 3.0, "low": 1.0}))
    linear, exponential = await score("NdcgMetric", turn), await score("NdcgMetric", turn, gain="exponential")
    assert exponential.value < linear.value < 1


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "ten", 10_001])
def test_a_k_that_is_no_length_of_a_list_is_refused(wrong: object) -> None:
    (problem,) = metric_problems("NdcgMetric", {"k": wrong})
    assert f"NdcgMetric: with.k: {wrong!r} is not allowed" in problem
