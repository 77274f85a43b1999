"""What every history of earlier runs answers: the ledger's database, and files of runs without one."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import LedgerError
from ratiba_action.history.keeping import keep_run
from ratiba_action.history.run_files import RunFiles, find_runs
from ratiba_action.history.run_history import KeptRunHistory, RunHistory
from ratiba_action.history.store import MetricsHistory, Series
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode, ModeDecision, Subject
from ratiba_action.model.comparison import Decline
from ratiba_action.model.history import AgreementPoint, KeptDecline, KeptScore, KeptValue
from ratiba_action.model.measurement import Errored, Phase
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from tests.support.run_history import write_history
from tests.support.sample_report import sample_cross_checking, sample_report, sample_score, sample_scored

pytestmark = pytest.mark.processes

START = datetime(2026, 11, 1, 8, tzinfo=UTC)
SERIES = Series("ratiba/assistant", "ratiba", "main", before=START + timedelta(days=100))
WHOLE = Verdict(Conclusion.PASSED, "All passed.")

Keep = Callable[..., RunHistory]


def run_of(day: int, value: float = 0.9, of: dict[str, Any] | None = None, **changes: Any) -> Report:
    """A run of main on a day, with one judged and one exact score."""
    subject = Subject(
        repository="ratiba/assistant", head=f"{day + 1:040x}", run_id=1000 + day, event="push", branch="main"
    )
    report = sample_report(
        subject=replace(subject, **(of or {})),
        commit=f"{day + 1:040x}",
        verdict=WHOLE,
        results=(sample_scored("spa", scores=(sample_score(value), sample_score(1.0, judged=False))),),
        started_at=START + timedelta(days=day),
        llm=AnswerOrigin.LIVE,
        judge_model="opus",
        scenario_digests={"spa": "d1"},
        cross_checking=None,
        seconds=60.0,
    )
    return replace(report, **changes)


@contextmanager
def opened(folder: Path) -> Iterator[RunFiles]:
    yield find_runs(str(folder), lambda: None)


@pytest.fixture(params=["database", "files"])
def keep(request: pytest.FixtureRequest, tmp_path: Path) -> Keep:
    """A history that holds some runs."""
    if request.param == "database":
        address = request.getfixturevalue("database")

        def keep_in_database(*reports: Report) -> RunHistory:
            for report in reports:
                keep_run(report, address)
            return MetricsHistory(address)

        return keep_in_database

    def keep_as_files(*reports: Report) -> RunHistory:
        write_history(tmp_path / "runs", list(reports))
        return KeptRunHistory("runs", partial(opened, tmp_path / "runs"))

    return keep_as_files


def test_an_empty_history_answers_with_nothing(keep: Keep) -> None:
    async def answers(history: RunHistory) -> list[Any]:
        return [
            await history.points(SERIES),
            await history.agreements(SERIES),
            dict(await history.repeats("ratiba/assistant", "opus", START)),
            await history.candidates(SERIES),
            await history.own_values(SERIES, "opus", "", ["d1"]),
            await history.decline(SERIES),
        ]

    assert asyncio.run(answers(keep())) == [(), (), {}, (), (), None]


def test_points_are_of_the_last_whole_blocking_runs_of_the_branch_itself(keep: Keep) -> None:
    advisory = ModeDecision(Mode.ADVISORY, ())
    history = keep(
        *(run_of(day, 0.5 + day / 10) for day in range(4)),
        run_of(5, decision=advisory),
        run_of(6, verdict=Verdict(Conclusion.INCOMPLETE, "Out of budget.")),
        run_of(7, of={"branch": "", "pull_request": 7, "event": "pull_request"}),
        run_of(8, of={"repository": "someone/else"}),
        run_of(9, name="another"),
    )
    found = asyncio.run(history.points(replace(SERIES, last=3)))
    judged = [(point.started_at.day, round(point.mean, 6)) for point in found if point.judge_model]
    assert judged == [(2, 0.6), (3, 0.7), (4, 0.8)]
    assert {(point.count, point.answers, point.judge_model) for point in found} == {
        (1, "live", "opus"), (1, "live", "")
    }  # fmt: skip
    since = replace(SERIES, since=START + timedelta(days=2), before=START + timedelta(days=3))
    assert [point.started_at.day for point in asyncio.run(history.points(since)) if point.judge_model] == [3]


def test_agreements_are_of_the_gate_on_any_branch(keep: Keep) -> None:
    checking = sample_cross_checking()
    change = {"branch": "", "pull_request": 7, "event": "pull_request"}
    history = keep(run_of(0, cross_checking=checking), run_of(1), run_of(2, of=change, cross_checking=checking))
    found = asyncio.run(history.agreements(SERIES))
    assert [(type(point), point.started_at.day) for point in found] == [(AgreementPoint, 1), (AgreementPoint, 3)]
    assert found[0].second_model == checking.model
    assert found[0].pairs == checking.agreement.pairs


def test_repeats_are_what_one_judge_gave_one_transcript_before_a_moment(keep: Keep) -> None:
    voted = sample_score(0.8, votes=(0.8, 0.7, 0.9), voters=("opus", "gpt-5.6", "opus"))
    history = keep(run_of(0, results=(sample_scored("spa", scores=(voted, sample_score(0.8))),)))
    after = START + timedelta(days=1)
    key = ("SwahiliFluencyMetric", voted.version)
    found = asyncio.run(history.repeats("ratiba/assistant", "opus", after))
    assert {name: [tuple(each) for each in scores] for name, scores in found.items()} == {key: [(0.8, 0.9)]}
    for repository, judge, before in (("ratiba/assistant", "opus", START), ("ratiba/assistant", "sonnet", after)):
        assert dict(asyncio.run(history.repeats(repository, judge, before))) == {}
    assert dict(asyncio.run(history.repeats("someone/else", "opus", after))) == {}


def test_candidates_are_whole_runs_with_a_commit_and_their_scores_are_found_by_them(keep: Keep) -> None:
    errored = Errored(sample_scored("bar").trial, Phase.SYSTEM, "it errored")
    first = run_of(0, 0.7)
    history = keep(
        replace(first, results=(*first.results, errored), scenario_digests={"spa": "d1", "bar": "d2"}),
        run_of(1, 0.8),
        run_of(2, verdict=Verdict(Conclusion.SKIPPED, "Nothing to do.")),
        run_of(3, of={"branch": "change"}),
    )
    found = asyncio.run(history.candidates(SERIES))
    assert [(run.commit, run.judge_model, run.answers) for run in found] == [
        (f"{2:040x}", "opus", "live"), (f"{1:040x}", "opus", "live")
    ]  # fmt: skip
    (named,) = asyncio.run(history.candidates(SERIES, f"{1:040x}"))
    assert named == found[1]
    rows = asyncio.run(history.scores([named.id]))
    judged, exact = sample_score(0.7), sample_score(1.0, judged=False)
    assert [replace(row, run=0) for row in rows] == [
        KeptScore(0, "bar", 0, "errored", "d2"),
        KeptScore(0, "spa", 0, rows[1].status, "d1", exact.metric, exact.version, judged=False, score=1.0),
        KeptScore(0, "spa", 0, rows[1].status, "d1", judged.metric, judged.version, judged=True, score=0.7),
    ]


def test_own_values_are_one_of_each_whole_live_run_that_had_ended_the_latest_first(keep: Keep) -> None:
    repeated = run_of(1, 0.6, llm=AnswerOrigin.REPLAY)
    history = keep(run_of(0, 0.7), repeated, run_of(2, 0.8), run_of(3, 0.9, judge_model="sonnet"), run_of(4, 0.95))
    later = replace(SERIES, before=datetime.now(UTC) + timedelta(days=1))
    found = asyncio.run(history.own_values(later, "opus", f"{5:040x}", ["d1", "d9"]))
    assert [(type(value), value.digest, value.score) for value in found] == [
        (KeptValue, "d1", 0.8), (KeptValue, "d1", 0.7)
    ]  # fmt: skip
    assert asyncio.run(history.own_values(later, "opus", "", ["d2"])) == ()


def test_the_decline_is_that_of_the_latest_run_with_an_anchor(keep: Keep) -> None:
    decline = Decline("the best", "a" * 40, START, 1, 2, -0.06, confirmed=True)
    history = keep(run_of(0, verdict=replace(WHOLE, decline=decline)), run_of(1))
    found = asyncio.run(history.decline(SERIES))
    assert found == KeptDecline(START, f"{1:040x}", "a" * 40, -0.06)


def test_a_history_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    away = MetricsHistory("postgresql://u:hunter2hunter2@127.0.0.1:1/x")
    missing = KeptRunHistory("runs", partial(opened, tmp_path / "missing"))
    for history in (away, missing):
        with pytest.raises(LedgerError) as caught:
            asyncio.run(history.points(SERIES))
        assert "hunter2" not in str(caught.value)
