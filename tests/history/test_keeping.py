"""A finished run is kept and shows how its metrics went before; a history that fails stops nothing."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratiba_action.errors import LedgerError
from ratiba_action.history.keeping import judge_drift, keep_run, read_agreements, with_trends
from ratiba_action.history.store import MetricsHistory, Series
from ratiba_action.model.change import Subject
from ratiba_action.model.comparison import Agreement, CrossCheckStatus
from ratiba_action.model.history import AgreementPoint
from ratiba_action.model.verdict import Conclusion, CrossChecking, Report, Verdict
from tests.support.sample_report import sample_report, sample_score, sample_scored

START = datetime(2026, 11, 1, 8, tzinfo=UTC)
AWAY = "postgresql://u:hunter2hunter2@127.0.0.1:1/x"


def run_of_main(day: int, value: float, **changes: Any) -> Report:
    report = sample_report(
        subject=Subject(repository="ratiba/assistant", head="c" * 40, run_id=day + 1, event="push", branch="main"),
        verdict=Verdict(Conclusion.PASSED, "All hold."),
        results=(sample_scored("spa", scores=(sample_score(value),)),),
        started_at=START + timedelta(days=day),
    )
    return replace(report, **changes)


def pull_request(**changes: Any) -> Report:
    subject = Subject("ratiba/assistant", 7, "d" * 40, "c" * 40, run_id=90, base_branch="main")
    return run_of_main(9, 0.1, subject=subject, **changes)


async def in_thread(work: Any, *arguments: Any) -> Any:
    """As the gate does it: outside of any event loop."""
    return await asyncio.to_thread(work, *arguments)


async def test_a_pull_request_shows_the_trend_of_its_base_branch_before_it(database: str) -> None:
    for day, value in ((0, 0.9), (1, 0.8), (20, 0.3)):
        assert await in_thread(keep_run, run_of_main(day, value), database)
    assert await in_thread(keep_run, pull_request(), database)
    shown = await in_thread(with_trends, pull_request(), MetricsHistory(database))
    (trend,) = shown.trends
    assert (trend.metric, [point.mean for point in trend.points]) == ("SwahiliFluencyMetric", [0.9, 0.8])
    of_main = await in_thread(with_trends, run_of_main(1, 0.8), MetricsHistory(database))
    assert [point.mean for one in of_main.trends for point in one.points] == [0.9]


async def test_a_changed_judge_breaks_the_line(database: str) -> None:
    for day, judge in enumerate(("opus", "opus", "sonnet")):
        await in_thread(keep_run, run_of_main(day, 0.9, judge_model=judge), database)
    (trend,) = (await in_thread(with_trends, pull_request(), MetricsHistory(database))).trends
    assert [(one.why, len(one.points)) for one in trend.segments] == [
        ("", 2),
        ("the judge is sonnet and was opus", 1),
    ]


@pytest.mark.parametrize("conclusion", [Conclusion.INCOMPLETE, Conclusion.SKIPPED])
def test_a_run_that_was_stopped_or_skipped_asks_for_no_trend(conclusion: Conclusion) -> None:
    report = pull_request(verdict=Verdict(conclusion, "The run was cancelled."))
    assert with_trends(report, MetricsHistory(AWAY)) == report


def test_a_run_of_no_branch_asks_for_no_trend() -> None:
    report = run_of_main(0, 0.9, subject=Subject(head="c" * 40))
    assert with_trends(report, MetricsHistory(AWAY)) == report


def test_what_fails_says_what_it_was_for_and_how_to_write_it_later() -> None:
    with pytest.raises(LedgerError, match="trends of the branch 'main' could not be read"):
        with_trends(pull_request(), MetricsHistory(AWAY))
    with pytest.raises(LedgerError, match=r"could not be written to the metrics.*report --to-history") as caught:
        keep_run(pull_request(), AWAY)
    assert "hunter2" not in str(caught.value)


def compared(kappa: float | None, pairs: int = 12, model: str = "gpt-5.6") -> CrossChecking:
    return CrossChecking(model, CrossCheckStatus(0.1, pairs, pairs), Agreement(pairs, 0.9, kappa, kappa))


async def test_votes_of_the_judge_itself_measure_its_noise(database: str) -> None:
    opus, gpt, recorded = ("opus", "opus", "gpt-5.6"), ("gpt-5.6", "opus", "opus"), ("", "", "")
    voted = [sample_score(0.8, votes=(0.8, 0.7, 0.9), voters=voters) for voters in (opus, gpt, recorded)]
    scores = (*voted, replace(voted[0], cached=True), sample_score(0.8))
    run = run_of_main(0, 0.9, results=(sample_scored("spa", scores=scores),), judge_model="opus")
    await in_thread(keep_run, run, database)
    history = MetricsHistory(database)
    found = await history.repeats("ratiba/assistant", "opus", START + timedelta(days=1))
    assert found == {("SwahiliFluencyMetric", scores[0].version): [(0.8, 0.7), (0.7, 0.9)]}
    assert await history.repeats("ratiba/assistant", "opus", START) == {}, "the run itself decides nothing of its rule"
    assert await history.repeats("ratiba/assistant", "sonnet", START + timedelta(days=1)) == {}


async def test_two_runs_in_a_row_below_the_bound_are_judge_drift(database: str) -> None:
    low, judge = {"cross_checking": compared(0.55)}, {"judge_model": "opus"}
    for day, kappa in ((0, 0.9), (1, 0.65)):
        run = run_of_main(day, 0.9, cross_checking=compared(kappa), **judge)
        await in_thread(keep_run, run, database)
    points = await in_thread(read_agreements, MetricsHistory(database), Series("ratiba/assistant", "ratiba", "main"))
    assert [(point.kappa, point.pairs, point.same_side) for point in points] == [(0.9, 12, 0.9), (0.65, 12, 0.9)]
    noted = (await in_thread(with_trends, pull_request(**low, **judge), MetricsHistory(database))).notes
    (drift,) = (note for note in noted if "Judge drift" in note)
    assert drift == (
        "Judge drift: opus and gpt-5.6 agreed with a quadratic kappa of 0.65 and 0.55 in the last two comparisons, "
        "below 0.70. Compare both judges with labels of people: ratiba calibrate run."
    )
    for unlike in (compared(0.9), compared(0.55, pairs=9), compared(0.55, model="other"), compared(None), None):
        report = pull_request(cross_checking=unlike, **judge)
        assert not any(
            "drift" in note for note in (await in_thread(with_trends, report, MetricsHistory(database))).notes
        )


def test_without_a_comparison_there_is_no_drift() -> None:
    assert judge_drift(()) is None
    assert judge_drift([AgreementPoint(START, "", "opus", "gpt", 20, 0.5, 0.1)]) is None
