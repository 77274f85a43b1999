"""The lower bound of a scenario's own history is the published one, and holds what it promises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.measurement import threshold_of
from ratiba_action.model.own_history import HistoryBound, Statistical, lower_prediction_bound, rank_of_bound
from ratiba_action.model.scenario import Assertion, Strategy
from tests.support.sample_report import sample_scenario

CONFIDENCES = st.integers(500, 999).map(lambda thousandths: thousandths / 1000)
SCORES = st.lists(st.integers(0, 10).map(lambda tenths: tenths / 10), min_size=2, max_size=60)


@pytest.mark.parametrize(
    ("values", "confidence", "rank"),
    [
        # Of n values the lowest bounds the next one with confidence n / (n + 1): Meeker, Hahn and Escobar 2017.
        (18, 0.95, 0),
        (19, 0.95, 1),
        (20, 0.95, 1),
        (38, 0.95, 1),
        (39, 0.95, 2),
        (59, 0.95, 3),
        (8, 0.9, 0),
        (9, 0.9, 1),
        (19, 0.9, 2),
        (98, 0.99, 0),
        (99, 0.99, 1),
        (1, 0.5, 1),
        (0, 0.5, 0),
    ],
)
def test_the_rank_of_the_bound_is_that_of_the_order_statistics(values: int, confidence: float, rank: int) -> None:
    assert rank_of_bound(values, confidence) == rank


@pytest.mark.parametrize(("confidence", "minimum"), [(0.5, 1), (0.9, 9), (0.95, 19), (0.97, 33), (0.99, 99)])
def test_the_fewest_values_of_a_confidence(confidence: float, minimum: int) -> None:
    assert Statistical(None, 30, confidence).minimum == minimum


@given(CONFIDENCES)
def test_with_the_fewest_values_there_is_a_bound_and_with_one_less_there_is_none(confidence: float) -> None:
    minimum = Statistical(None, 30, confidence).minimum
    assert rank_of_bound(minimum, confidence) == 1
    assert rank_of_bound(minimum - 1, confidence) == 0


@given(SCORES, CONFIDENCES)
def test_of_values_in_any_order_no_more_are_below_the_bound_of_the_others_than_it_allows(
    scores: list[float], confidence: float
) -> None:
    below = 0
    for place, score in enumerate(scores):
        bound = lower_prediction_bound([*scores[:place], *scores[place + 1 :]], confidence)
        below += bound is not None and score < bound
    assert below <= len(scores) * (1 - confidence) + 1e-9


@given(SCORES, CONFIDENCES)
def test_more_confidence_never_gives_a_higher_bound(scores: list[float], confidence: float) -> None:
    bound, less = lower_prediction_bound(scores, confidence), lower_prediction_bound(scores, 0.5)
    assert bound is None or (less is not None and min(scores) <= bound <= less)


def test_a_confidence_that_no_number_of_values_gives_is_refused() -> None:
    with pytest.raises(ValueError, match=r"confidence_level is 1\.0, and must be from 0\.5 to 0\.999"):
        Statistical(confidence_level=1.0)


OWN = Statistical(branch="main", bounds=(HistoryBound("A", "1", 20, 0.55), HistoryBound("B", "1", 12)))


@pytest.mark.parametrize(
    ("assertion", "version", "critical", "threshold"),
    [
        (Assertion("A", 0.7), "1", False, 0.55),
        (Assertion("A", 0.7), "2", False, 0.7),
        (Assertion("B", 0.7), "1", False, 0.7),
        (Assertion("A", 0.7, of_rule=True), "1", False, 0.7),
        (Assertion("A", 0.7), "1", True, 0.7),
    ],
    ids=["enough values", "another version of the metric", "too few values", "a rule", "a critical scenario"],
)
def test_the_threshold_gives_way_to_a_bound_and_to_nothing_else(
    assertion: Assertion, version: str, *, critical: bool, threshold: float
) -> None:
    scenario = sample_scenario("spa", critical=critical, strategy=Strategy(statistical=OWN))
    assert threshold_of(scenario, assertion, version) == threshold
