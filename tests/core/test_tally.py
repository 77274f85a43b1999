"""Counts that the comment, the outputs and the verdict share."""

from ratiba_action.core.tally import Tally, summarise_metrics, tally
from ratiba_action.testing.sample_report import sample_results


def test_each_outcome_is_counted_once() -> None:
    assert tally(sample_results()) == Tally(passed=1, failed=1, errored=1, not_run=1)
    assert tally(sample_results()).total == 4


def test_metrics_are_summarised_by_name_and_version() -> None:
    booking, fluency = summarise_metrics(sample_results())
    assert (booking.metric, booking.judged, booking.count, booking.mean) == (
        "BookingSlotConsistencyMetric",
        False,
        2,
        0.75,
    )
    assert (fluency.passed, fluency.thresholds) == (1, (0.8,))
