"""Keeps a finished run in the history, and says how its metrics went before; never a reason to fail a run."""

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from ratiba_action.errors import LedgerError
from ratiba_action.history.store import MetricsHistory, Series
from ratiba_action.model.comparison import Agreement
from ratiba_action.model.history import (
    AgreementPoint,
    ResultRecord,
    RunRecord,
    ScoreRecord,
    Trend,
    TrendPoint,
    TrendSegment,
    TrendWindow,
)
from ratiba_action.model.measurement import ScenarioResult, Score, Scored
from ratiba_action.model.note import Note, in_order
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.summary import described_thresholds
from ratiba_action.verdict.decline import note_for_changes
from ratiba_action.verdict.tally import status_of
from ratiba_action.verdict.trials import outcomes_of

if TYPE_CHECKING:
    from ratiba_action.history.run_history import RunHistory

WINDOWS = (7, 30, 90)
"""Days."""
AGREEMENT_BOUND = 0.7
"""Of the quadratic kappa of two judges; the bound of the agreement with people, too."""
MIN_PAIRS = 10
"""Scores that both judges of a run gave; with fewer its kappa says nothing."""
_IN_A_ROW = 2
_MAX = 5_000
"""Runs that the longest window has at most."""


def join_trends(points: Iterable[TrendPoint]) -> tuple[Trend, ...]:
    """A trend of each metric, in order of name.

    Args:
        points: of any metrics, in any order.
    """
    found: dict[str, list[TrendPoint]] = {}
    for point in sorted(points, key=lambda item: (item.metric, item.started_at)):
        found.setdefault(point.metric, []).append(point)
    return tuple(Trend(metric, _segments(ordered)) for metric, ordered in found.items())


def _segments(points: Sequence[TrendPoint]) -> tuple[TrendSegment, ...]:
    starts = [0, *(at for at, (before, after) in enumerate(pairwise(points), 1) if why_not_joined(before, after))]
    return tuple(
        TrendSegment(why_not_joined(points[start - 1], points[start]) if start else "", tuple(points[start:end]))
        for start, end in zip(starts, [*starts[1:], len(points)], strict=True)
    )


def why_not_joined(before: TrendPoint, after: TrendPoint) -> str:
    """Why no line may lead from one point to the next; empty where it may.

    The rules are those of a comparison with the base; a suite that changed holds other conversations.
    """
    changes = (
        ("the version is", before.version, after.version),
        ("the judge is", before.judge_model, after.judge_model),
        ("answers are", before.answers, after.answers),
    )
    changes_found = [f"{what} {new or 'none'} and was {old or 'none'}" for what, old, new in changes if old != new]
    changes_found += ["the suite changed"] if before.suite_version != after.suite_version else []
    return "; ".join(changes_found)


def record_of(report: Report) -> RunRecord:
    """The record of a run.

    Args:
        report: with its secrets and identifiers masked already.
    """
    required = described_thresholds(report, outcomes_of(report.results))
    subject, checking = report.subject, report.cross_checking
    agreement, decline = checking.agreement if checking is not None else Agreement(0), report.verdict.decline
    return RunRecord(
        repository=subject.repository,
        gate=report.name,
        commit=report.commit or subject.head,
        run_id=subject.run_id,
        run_attempt=subject.run_attempt,
        started_at=report.started_at,
        event=subject.event,
        branch=subject.branch,
        pull_request=subject.pull_request,
        suite_version=report.suite_digest,
        mode=report.decision.mode.value,
        conclusion=report.verdict.conclusion.value,
        answers=report.llm,
        judge_model=report.judge_model,
        spent_usd=report.spending.spent,
        seconds=report.seconds,
        trials=len(report.results),
        results=tuple(_result(result, report.scenario_digests) for result in report.results),
        scores=tuple(
            _score(result, score, report.judge_model, required.get(score.metric, ""))
            for result in report.results
            for score in (result.scores if isinstance(result, Scored) else ())
        ),
        second_model=checking.model if checking is not None else "",
        pairs=agreement.pairs,
        same_side=agreement.same_side,
        kappa=agreement.quadratic,
        anchor="" if decline is None else decline.commit,
        decline=decline.difference if decline is not None and decline.confirmed else None,
    )


def _result(result: ScenarioResult, digests: Mapping[str, str]) -> ResultRecord:
    name = result.trial.scenario.id
    return ResultRecord(name, result.trial.number, status_of(result), digests.get(name, ""))


def _score(result: ScenarioResult, score: Score, judge_model: str, required: str) -> ScoreRecord:
    return ScoreRecord(
        scenario=result.trial.scenario.id,
        trial=result.trial.number,
        metric=score.metric,
        version=score.version,
        judge_model=judge_model if score.judged else "",
        score=score.value,
        threshold=score.threshold,
        status="passed" if score.passed else "failed",
        required=required,
        repeats=_repeats(score, judge_model),
        answered_by=", ".join(score.answered_by),
    )


def _repeats(score: Score, judge_model: str) -> tuple[float, ...]:
    """What the judge itself gave one transcript; a score from the cache stands in an earlier run already."""
    if not score.votes or score.cached:
        return ()
    own = [vote for vote, voter in zip(score.votes, score.voters, strict=False) if voter == judge_model]
    return tuple(own) if len(own) > 1 else ()


_AGAIN = "The run is whole in results.json: 'ratiba report --to-history' writes it again."


def keep_run(report: Report, url: str) -> bool:
    """Add a run to the history.

    Args:
        report: with its secrets and identifiers masked already.
        url: connection string of the ledger's database.

    Returns:
        False where the run is there already.

    Raises:
        LedgerError: it could not be written; says how to write it later.
    """
    try:
        return asyncio.run(MetricsHistory(url).write(record_of(report)))
    except LedgerError as error:
        raise LedgerError(
            f"The run could not be written to the metrics history: {error.problem}", f"{error.remedy} {_AGAIN}".strip()
        ) from None


def create_tables(url: str) -> None:
    """Make the tables, or bring them up to date.

    Raises:
        LedgerError: they could not be made.
    """
    asyncio.run(MetricsHistory(url).prepare())


def read_trends(history: "RunHistory", series: Series) -> tuple[Trend, ...]:
    """How each metric went over the runs of a series.

    Raises:
        LedgerError: they cannot be read.
    """
    return asyncio.run(_trends(history, series))


async def _trends(history: "RunHistory", series: Series) -> tuple[Trend, ...]:
    trends = join_trends(await history.points(series))
    latest = max((point.started_at for trend in trends for point in trend.points), default=None)
    if latest is None:
        return trends
    since = latest - timedelta(days=max(WINDOWS))
    every = {
        trend.metric: trend for trend in join_trends(await history.points(replace(series, last=_MAX, since=since)))
    }
    return tuple(replace(trend, windows=windows_of(every.get(trend.metric), latest)) for trend in trends)


def read_agreements(history: "RunHistory", series: Series) -> tuple[AgreementPoint, ...]:
    """How far the two judges agreed in each of the last runs of a gate, the oldest first.

    Raises:
        LedgerError: they cannot be read.
    """
    return asyncio.run(history.agreements(series))


def read_records(url: str, gate: str, repository: str = "", seconds: float = 60.0) -> tuple[RunRecord, ...]:
    """Every run of a gate, at most the latest 5,000, with its results and scores, the latest first.

    Args:
        repository: ``owner/name``; empty for any.

    Raises:
        LedgerError: they cannot be read.
    """
    return asyncio.run(MetricsHistory(url, seconds).records(gate, repository, _MAX))


def judge_drift(points: Sequence[AgreementPoint]) -> Note | None:
    """What is said when two comparisons of the same judges in a row are below the bound, the latest among them.

    Args:
        points: of runs, the oldest first; those that compared too few scores count for nothing.
    """
    latest = points[-1:]
    counted = [
        point
        for point in points
        if point.pairs >= MIN_PAIRS
        and (point.judge_model, point.second_model) == (latest[0].judge_model, latest[0].second_model)
    ][-_IN_A_ROW:]
    low = [point.kappa for point in counted if point.kappa is not None and point.kappa < AGREEMENT_BOUND]
    if len(low) < _IN_A_ROW or counted[-1] is not latest[0]:
        return None
    shown = " and ".join(f"{kappa + 0:.2f}" for kappa in low)
    return Note(
        f"Judge drift: {latest[0].judge_model} and {latest[0].second_model} agreed with a quadratic kappa of {shown} "
        f"in the last two comparisons, below {AGREEMENT_BOUND:.2f}.",
        "Compare both judges with labels of people: ratiba calibrate run.",
    )


def _agreement_of(report: Report) -> AgreementPoint:
    record = record_of(report)
    return AgreementPoint(
        record.started_at,
        record.commit,
        record.judge_model,
        record.second_model,
        record.pairs,
        record.same_side,
        record.kappa,
    )


def windows_of(trend: Trend | None, latest: datetime) -> tuple[TrendWindow, ...]:
    """The means of a metric over the days before a moment, over runs that can be compared with its latest one.

    Args:
        trend: with every run of the longest window; None for a metric that no run has.
        latest: when the latest run of the branch began.
    """
    points = () if trend is None or not trend.segments else trend.segments[-1].points
    windows = []
    for days in WINDOWS:
        inside = [point for point in points if point.started_at > latest - timedelta(days=days)]
        count = sum(point.count for point in inside)
        total = math.fsum(point.mean * point.count for point in inside)
        windows.append(TrendWindow(days, len(inside), total / count if count and math.isfinite(total) else None))
    return tuple(windows)


def _decline_of_base(report: Report, history: "RunHistory", series: Series) -> Note | None:
    """What a change hears of the branch that it would be merged into."""
    if not report.subject.base_branch:
        return None
    latest = asyncio.run(history.decline(series))
    return None if latest is None else note_for_changes(series.branch, latest)


def with_trends(report: Report, history: "RunHistory") -> Report:
    """The report with the trends of its base branch up to it.

    Raises:
        LedgerError: they cannot be read.
    """
    branch = report.subject.base_branch or report.subject.branch
    # A run that was stopped has no time to lose.
    if not branch or report.verdict.conclusion in {Conclusion.INCOMPLETE, Conclusion.SKIPPED}:
        return report
    series = Series(report.subject.repository, report.name, branch, before=report.started_at.astimezone(UTC))
    try:
        trends, before = read_trends(history, series), read_agreements(history, series)
        found = (judge_drift((*before, _agreement_of(report))), _decline_of_base(report, history, series))
        return replace(report, trends=trends, notes=in_order((*report.notes, *filter(None, found))))
    except LedgerError as error:
        problem = f"The trends of the branch {branch!r} could not be read: {error.problem}"
        raise LedgerError(problem, error.remedy) from None
