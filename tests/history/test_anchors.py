"""The anchor of a branch's own run comes from what the history has kept, as runs that can be compared."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratiba_action.errors import LedgerError
from ratiba_action.history.anchors import AnchorWanted, read_anchor
from ratiba_action.history.keeping import keep_run, with_trends
from ratiba_action.history.store import MetricsHistory, Series
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Subject
from ratiba_action.model.comparison import Anchor, Decline, Rules
from ratiba_action.model.measurement import Errored, NotRun, Phase, Scored
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.verdict.pairing import content_digest
from tests.support.sample_report import sample_report, sample_scenario, sample_score, sample_scored, sample_trial

NOW = datetime(2026, 11, 25, 8, tzinfo=UTC)
SCENARIOS = {content_digest(entry): entry for entry in map(sample_scenario, ("spa", "salon"))}
DIGESTS = {entry.id: digest for digest, entry in SCENARIOS.items()}
SERIES = Series("ratiba/assistant", "ratiba", "main", before=NOW)
SERVER_AWAY = "postgresql://u:hunter2hunter2@127.0.0.1:1/x"


def commit(number: int) -> str:
    return f"{number:040x}"


def run_of_main(number: int, days: float, value: float, **changes: Any) -> Report:
    """A run of main, that many days ago."""
    report = sample_report(
        subject=Subject("ratiba/assistant", head=commit(number), run_id=number, event="push", branch="main"),
        verdict=Verdict(Conclusion.PASSED, "All hold."),
        results=tuple(sample_scored(name, scores=(sample_score(value),)) for name in DIGESTS),
        started_at=NOW - timedelta(days=days),
        llm=AnswerOrigin.LIVE,
        judge_model="opus",
        scenario_digests=DIGESTS,
    )
    return replace(report, **changes)


async def anchor(database: str, *reports: Report, own: str = "", named: str = "", **rules: Any) -> Anchor | None:
    """The anchor after these runs."""
    for report in reports:
        assert await asyncio.to_thread(keep_run, report, database)
    wanted = AnchorWanted(SERIES, own, named, SCENARIOS)
    return await asyncio.to_thread(read_anchor, MetricsHistory(database), wanted, Rules(**rules))


def scores(found: Anchor) -> list[Mapping[str, float]]:
    """The scores of each run of an anchor, by scenario."""
    return [
        {result.trial.scenario.id: result.scores[0].value for result in run.results if isinstance(result, Scored)}
        for run in found.runs
    ]


async def test_the_best_of_the_last_weeks_is_read_with_the_scenarios_that_are_as_they_were(database: str) -> None:
    found = await anchor(
        database,
        run_of_main(1, 70, 1.0),
        run_of_main(2, 30, 0.7),
        run_of_main(3, 15, 0.9),
        run_of_main(4, 14.5, 0.95),
        run_of_main(3, 12, 0.88, subject=Subject("ratiba/assistant", head=commit(3), run_id=30, branch="main")),
        run_of_main(5, 2, 0.8, scenario_digests={**DIGESTS, "salon": "it was another one"}),
    )
    assert found is not None
    assert (found.commit, found.candidates, found.name) == (commit(3), 3, "the best of the last 8 weeks")
    assert scores(found) == [{"spa": 0.9, "salon": 0.9}, {"spa": 0.88, "salon": 0.88}]
    assert {(run.judge_model, run.answers) for run in found.runs} == {("opus", "live")}
    assert found.runs[0].scenario_digests == DIGESTS


@pytest.mark.parametrize(
    "changes",
    [
        {"judge_model": "sonnet"},
        {"llm": AnswerOrigin.REPLAY},
        {"llm": AnswerOrigin.RECORD},
        {"verdict": Verdict(Conclusion.INCOMPLETE, "Out of budget.")},
        {"subject": Subject("ratiba/assistant", head=commit(2), run_id=2, branch="other")},
        {"scenario_digests": {}},
        {"results": (NotRun(sample_trial("spa"), "no money"),)},
    ],
)
async def test_a_run_that_cannot_be_compared_is_no_candidate(database: str, changes: Mapping[str, Any]) -> None:
    found = await anchor(database, run_of_main(2, 20, 1.0, **changes), run_of_main(3, 3, 0.8))
    assert found is not None
    assert (found.commit, found.candidates) == (commit(3), 1)


async def test_a_version_that_was_named_is_read_whatever_its_age_and_a_run_is_no_anchor_of_itself(
    database: str,
) -> None:
    found = await anchor(database, run_of_main(1, 300, 0.6), run_of_main(2, 3, 0.9), named=commit(1))
    assert found is not None
    assert (found.commit, found.candidates, found.name) == (commit(1), 1, "the anchor that is configured")
    assert await anchor(database, named=commit(9)) is None
    assert await anchor(database, own=commit(2)) is None


async def test_a_trial_that_errored_is_not_taken_for_a_score(database: str) -> None:
    errored = (
        Errored(sample_trial("spa"), Phase.SYSTEM, "it fell over"),
        sample_scored("salon", scores=(sample_score(),)),
    )
    found = await anchor(database, run_of_main(1, 3, 0.9, results=errored))
    assert found is not None
    assert [type(result) for result in found.runs[0].results] == [Scored, Errored]


async def test_without_runs_there_is_no_anchor_and_a_server_that_is_away_is_an_error(database: str) -> None:
    assert await anchor(database) is None
    with pytest.raises(LedgerError):
        await anchor(SERVER_AWAY)


async def test_a_pull_request_is_reported_what_the_latest_run_of_its_base_found(database: str) -> None:
    subject = Subject("ratiba/assistant", 7, commit(9), commit(8), run_id=90, base_branch="main")
    change = run_of_main(9, 0, 0.8, subject=subject)

    def compared(difference: float, *, confirmed: bool) -> Verdict:
        decline = Decline("the best", commit(1), NOW, 1, 2, difference, confirmed=confirmed)
        return Verdict(Conclusion.PASSED, "All hold.", decline=decline)

    async def noted() -> list[str]:
        report = await asyncio.to_thread(with_trends, change, MetricsHistory(database))
        return [note for note in report.notes if "Slow decline" in note]

    fallen = run_of_main(3, 3, 0.8, verdict=compared(-0.06, confirmed=True))
    await asyncio.to_thread(keep_run, fallen, database)
    await asyncio.to_thread(keep_run, run_of_main(4, 2, 0.8), database)
    assert [note.partition("that its")[2].partition(". ")[0] for note in await noted()] == [
        f" mean score is 6 points below that of {commit(1)}"
    ]
    fixed = run_of_main(5, 1, 0.9, verdict=compared(-0.01, confirmed=False))
    await asyncio.to_thread(keep_run, fixed, database)
    assert await noted() == []
