"""Counts that the comment, the outputs and the verdict share."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Score, Scored
from ratiba_action.verdict.tally import Tally, summarise_metrics, tally
from tests.support.sample_report import (
    sample_check,
    sample_report,
    sample_results,
    sample_score,
    sample_scored,
    sample_trial,
)

SCORES = st.builds(
    lambda value, threshold, metric, cached: sample_score(value, threshold=threshold, metric=metric, cached=cached),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from(["Slot", "Fluency"]),
    st.booleans(),
)
RESULTS: st.SearchStrategy[list[ScenarioResult]] = st.lists(
    st.one_of(
        st.builds(
            lambda checks, scores: sample_scored(
                checks=tuple(sample_check(passed=passed) for passed in checks), scores=tuple(scores)
            ),
            st.lists(st.booleans(), max_size=3),
            st.lists(SCORES, max_size=3),
        ),
        st.builds(Errored, st.just(sample_trial()), st.sampled_from(Phase), st.text(max_size=3)),
        st.builds(NotRun, st.just(sample_trial()), st.text(max_size=3)),
    ),
    max_size=8,
)


def scores_of(results: list[ScenarioResult]) -> list[Score]:
    return [score for result in results if isinstance(result, Scored) for score in result.scores]


def count(results: list[ScenarioResult]) -> Tally:
    """Of results that each belong to a scenario of its own."""
    apart = [
        replace(one, trial=replace(one.trial, scenario=replace(one.trial.scenario, id=f"s{index}")))
        for index, one in enumerate(results)
    ]
    return tally(sample_report(results=tuple(apart)))


def test_each_outcome_is_counted_once() -> None:
    assert tally(sample_report()) == Tally(passed=1, failed=1, errored=1, not_run=1)
    assert tally(sample_report()).total == 4


def test_metrics_are_summarised_by_name_and_version() -> None:
    booking, fluency = summarise_metrics(sample_results())
    assert (booking.metric, booking.judged, booking.count, booking.mean) == (
        "BookingSlotConsistencyMetric",
        False,
        2,
        0.75,
    )
    assert (fluency.passed, fluency.thresholds) == (1, (0.8,))


@given(RESULTS)
def test_the_counts_add_up_to_the_number_of_results(results: list[ScenarioResult]) -> None:
    counted = count(results)
    assert counted.total == len(results)
    assert counted.passed + counted.failed == sum(isinstance(result, Scored) for result in results)
    assert counted.errored == sum(isinstance(result, Errored) for result in results)
    assert counted.not_run == sum(isinstance(result, NotRun) for result in results)


@given(RESULTS, RESULTS)
def test_the_counts_of_two_runs_are_those_of_both_together(
    one: list[ScenarioResult], two: list[ScenarioResult]
) -> None:
    both, first, second = count(one + two), count(one), count(two)
    assert both.passed == first.passed + second.passed
    assert both.failed == first.failed + second.failed


@given(RESULTS)
def test_a_conversation_passes_when_nothing_in_it_fails(results: list[ScenarioResult]) -> None:
    flawless = [
        result
        for result in results
        if isinstance(result, Scored)
        and False not in [check.passed for check in result.checks]
        and all(score.value >= score.threshold for score in result.scores)
    ]
    assert count(results).passed == len(flawless)


@given(RESULTS)
def test_every_score_is_in_exactly_one_summary(results: list[ScenarioResult]) -> None:
    summaries, scores = summarise_metrics(results), scores_of(results)
    assert sum(summary.count for summary in summaries) == len(scores)
    assert sum(summary.passed for summary in summaries) == sum(score.value >= score.threshold for score in scores)
    assert sum(summary.cached for summary in summaries) == sum(score.cached for score in scores)
    for summary in summaries:
        values = [score.value for score in scores if score.metric == summary.metric]
        assert min(values) - 1e-9 <= summary.mean <= max(values) + 1e-9
