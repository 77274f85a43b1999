import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.metrics.judging.voting_rule import VotingRule, noise_band

SCORES = st.integers(0, 10).map(lambda grade: grade / 10)


@pytest.mark.parametrize(("value", "measured"), [(0.74, 1), (0.75, 3), (0.79, 3), (0.8, 3), (0.85, 3), (0.86, 1)])
def test_scores_on_both_sides_of_the_threshold_are_voted_on(value: float, measured: int) -> None:
    rule = VotingRule()
    assert (rule.votes if rule.calls_for_a_vote(value, 0.8) else 1) == measured


@given(SCORES, SCORES, st.floats(0, 1))
def test_the_rule_does_not_know_a_pass_from_a_fail(value: float, threshold: float, band: float) -> None:
    rule = VotingRule(band)
    assert rule.calls_for_a_vote(value, threshold) is rule.calls_for_a_vote(threshold, value)


def test_one_vote_is_none() -> None:
    assert VotingRule(votes=1).calls_for_a_vote(0.8, 0.8) is False


@pytest.mark.parametrize(
    ("band", "votes"), [(-0.01, 3), (1.01, 3), (float("nan"), 3), (0.05, 0), (0.05, 2), (0.05, -1)]
)
def test_a_rule_without_a_median_is_refused(band: float, votes: int) -> None:
    with pytest.raises(ValueError, match="vote"):
        VotingRule(band, votes)


@given(st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=5), min_size=30))
def test_the_band_is_two_pooled_standard_deviations(groups: list[list[float]]) -> None:
    freedom = sum(len(group) - 1 for group in groups)
    variance = sum((len(group) - 1) * statistics.variance(group) for group in groups) / freedom
    assert noise_band(groups) == pytest.approx(min(2 * variance**0.5, 1), abs=1e-9)


def test_too_few_repeats_measure_no_noise() -> None:
    assert noise_band([(0.8, 0.9)] * 29) is None
    assert noise_band([(0.8, 0.9)] * 30) == pytest.approx(2 * 0.1 / 2**0.5)


def test_a_metric_has_the_band_that_was_measured_of_its_version() -> None:
    rule = VotingRule(0.05, 5, {("ToneMetric", "1"): 0.2})
    assert [rule.of("ToneMetric", version).band for version in "12"] == [0.2, 0.05]
    assert rule.of("ToneMetric", "1").votes == 5


def test_an_empty_group_says_nothing_of_the_noise() -> None:
    groups = [(0.7, 0.8)] * 30
    assert noise_band([(), *groups]) == noise_band(groups)
    assert noise_band([()]) is None
