"""A finished run is kept and shows how its metrics went before; a history that fails stops nothing."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratiba_action.errors import LedgerError
from ratiba_action.history.keeping import keep_run, with_trends
from ratiba_action.model.change import Subject
from ratiba_action.model.verdict import Conclusion, Report, Verdict
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
    shown = await in_thread(with_trends, pull_request(), database)
    (trend,) = shown.trends
    assert (trend.metric, [point.mean for point in trend.points]) == ("SwahiliFluencyMetric", [0.9, 0.8])
    of_main = await in_thread(with_trends, run_of_main(1, 0.8), database)
    assert [point.mean for one in of_main.trends for point in one.points] == [0.9]


async def test_a_changed_judge_breaks_the_line(database: str) -> None:
    for day, judge in enumerate(("opus", "opus", "sonnet")):
        await in_thread(keep_run, run_of_main(day, 0.9, judge_model=judge), database)
    (trend,) = (await in_thread(with_trends, pull_request(), database)).trends
    assert [(one.why, len(one.points)) for one in trend.segments] == [
        ("", 2),
        ("the judge is sonnet and was opus", 1),
    ]


@pytest.mark.parametrize("conclusion", [Conclusion.INCOMPLETE, Conclusion.SKIPPED])
def test_a_run_that_was_stopped_or_skipped_asks_for_no_trend(conclusion: Conclusion) -> None:
    report = pull_request(verdict=Verdict(conclusion, "The run was cancelled."))
    assert with_trends(report, AWAY) == report


def test_a_run_of_no_branch_asks_for_no_trend() -> None:
    report = run_of_main(0, 0.9, subject=Subject(head="c" * 40))
    assert with_trends(report, AWAY) == report


def test_what_fails_says_what_it_was_for_and_how_to_write_it_later() -> None:
    with pytest.raises(LedgerError, match="trends of the branch 'main' could not be read"):
        with_trends(pull_request(), AWAY)
    with pytest.raises(LedgerError, match=r"could not be written to the metrics.*report --to-history") as caught:
        keep_run(pull_request(), AWAY)
    assert "hunter2" not in str(caught.value)
