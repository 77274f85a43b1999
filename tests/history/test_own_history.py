"""What counts as a value of a scenario's own history, on a real server."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratiba_action.errors import LedgerError
from ratiba_action.history.keeping import keep_run
from ratiba_action.history.own_history import read_own_values, with_bounds
from ratiba_action.history.store import MetricsHistory, Series
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Subject
from ratiba_action.model.history import KeptValue
from ratiba_action.model.own_history import HistoryBound, Statistical
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from tests.support.sample_report import sample_report, sample_score, sample_scored

NOW = datetime(2026, 1, 25, 8, tzinfo=UTC)
OWN = "9" * 40


def run_of_main(number: int, value: float, **changes: Any) -> Report:
    """A run of main, that many days ago."""
    report = sample_report(
        subject=Subject("ratiba/assistant", head=f"{number:040x}", run_id=number, event="push", branch="main"),
        verdict=Verdict(Conclusion.FAILED, "A score is low."),
        results=(sample_scored("spa", scores=(sample_score(value), sample_score(0.1, judged=False, metric="Exact"))),),
        started_at=NOW - timedelta(days=number),
        llm=AnswerOrigin.LIVE,
        judge_model="opus",
        scenario_digests={"spa": "d1"},
    )
    return replace(report, **changes)


def values_after(database: str, *reports: Report) -> Sequence[float]:
    """The values of the scenario after these runs."""
    for report in reports:
        assert keep_run(report, database)
    return values_before(database, datetime.now(UTC))


def values_before(database: str, before: datetime) -> Sequence[float]:
    """The values of the scenario as a run that began then reads them."""
    series = Series("ratiba/assistant", "ratiba", "main", before=before)
    found = read_own_values(MetricsHistory(database), series, "opus", OWN, ["d1"])
    return [value.score for value in found.get("d1", ())]


async def test_each_whole_live_run_of_the_branch_is_one_value_also_a_failed_one(database: str) -> None:
    further = sample_scored("spa", scores=(sample_score(0.3),))
    further = replace(further, trial=replace(further.trial, number=1))
    last = run_of_main(1, 0.9)
    last = replace(last, results=(*last.results, further))
    found = await asyncio.to_thread(values_after, database, run_of_main(3, 0.7), run_of_main(2, 0.8), last)
    assert found == [0.9, 0.8, 0.7], "the latest first, one trial of each, the judged score only"


@pytest.mark.parametrize(
    "changes",
    [
        {"judge_model": "sonnet"},
        {"llm": AnswerOrigin.REPLAY},
        {"llm": AnswerOrigin.MIXED},
        {"verdict": Verdict(Conclusion.INCOMPLETE, "Out of budget.")},
        {"subject": Subject("ratiba/assistant", head="2" * 40, run_id=2, branch="other")},
        {"subject": Subject("ratiba/assistant", 7, "2" * 40, "1" * 40, run_id=2, base_branch="main")},
        {"subject": Subject("ratiba/assistant", head=OWN, run_id=2, branch="main")},
        {"scenario_digests": {"spa": "d2"}},
        {"name": "another-gate"},
        {"started_at": datetime(9999, 1, 1, tzinfo=UTC)},
    ],
    ids=lambda changes: " ".join(map(str, changes)),
)
async def test_a_run_that_cannot_be_compared_is_no_value(database: str, changes: Mapping[str, Any]) -> None:
    found = await asyncio.to_thread(values_after, database, run_of_main(2, 0.2, **changes), run_of_main(3, 0.8))
    assert found == [0.8]


async def test_a_run_that_is_written_between_a_shard_and_its_merge_changes_no_bound(database: str) -> None:
    await asyncio.to_thread(keep_run, run_of_main(3, 0.8), database)
    event = datetime.now(UTC)
    shard = await asyncio.to_thread(values_before, database, event)
    # It began long before the event, and ended after it.
    await asyncio.to_thread(keep_run, run_of_main(2, 0.2), database)
    merge = await asyncio.to_thread(values_before, database, event)
    assert shard == merge == [0.8]
    assert await asyncio.to_thread(values_before, database, datetime.now(UTC)) == [0.2, 0.8], "a later run sees both"


async def test_without_tables_there_is_no_value_and_a_server_that_is_away_is_an_error(database: str) -> None:
    assert await asyncio.to_thread(values_after, database) == []
    with pytest.raises(LedgerError):
        await asyncio.to_thread(values_after, "postgresql://u:hunter2hunter2@127.0.0.1:1/x")


def value(days: float, score: float, version: str = "1") -> KeptValue:
    return KeptValue("d1", "A", version, NOW - timedelta(days=days), score)


SERIES_OF_VALUES = [value(day, 0.5 + day / 100) for day in range(1, 31)]


@pytest.mark.parametrize(
    ("wanted", "values", "low"),
    [
        (Statistical(), 20, 0.51),
        (Statistical(30), 30, 0.51),
        (Statistical(31), 30, None),
        (Statistical(20, None, 0.9), 20, 0.52),
        (Statistical(None, 19), 19, 0.51),
        (Statistical(None, 18), 18, None),
        (Statistical(None, 18, 0.9), 18, 0.51),
    ],
)
def test_the_window_is_a_number_of_values_or_of_days(wanted: Statistical, values: int, low: float | None) -> None:
    found = with_bounds(wanted, SERIES_OF_VALUES, "main", NOW)
    assert found.bounds == (HistoryBound("A", "1", values, low),)
    assert replace(found, branch="", bounds=()) == wanted


def test_versions_of_a_metric_have_histories_of_their_own_and_other_metrics_none() -> None:
    wanted = Statistical(2, None, 0.5, ("A",))
    mixed = [value(1, 0.9, "2"), value(2, 0.4), value(3, 0.5), replace(value(1, 0.1), metric="B")]
    assert with_bounds(wanted, mixed, "main", NOW).bounds == (HistoryBound("A", "1", 2, 0.4), HistoryBound("A", "2", 1))
