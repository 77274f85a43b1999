"""Keeps a finished run in the history, and tells how its metrics went before; never a reason to fail a run."""

import asyncio
from dataclasses import replace
from datetime import UTC

from ratiba_action.errors import LedgerError
from ratiba_action.history.history_record import record_of
from ratiba_action.history.store import SECONDS, MetricsHistory, Series
from ratiba_action.history.trends import join_trends
from ratiba_action.model.history import Trend
from ratiba_action.model.verdict import Conclusion, Report

_READ_SECONDS = 10.0
_AGAIN = "The run is whole in results.json: 'ratiba report --to-history' writes it again."


def keep_run(report: Report, url: str, seconds: float = SECONDS) -> bool:
    """Add a run to the history.

    Args:
        report: with its secrets and identifiers masked already.
        url: connection string of the ledger's database.
        seconds: after which it is given up.

    Returns:
        False where the run is there already.

    Raises:
        LedgerError: it could not be written; tells how to write it later.
    """
    try:
        return asyncio.run(MetricsHistory(url, seconds).write(record_of(report)))
    except LedgerError as error:
        raise LedgerError(
            f"The run could not be written to the metrics history: {error.problem}", f"{error.remedy} {_AGAIN}".strip()
        ) from None


def prepare_history(url: str) -> None:
    """Make the tables, or bring them up to date.

    Raises:
        LedgerError: they could not be made.
    """
    asyncio.run(MetricsHistory(url).prepare())


def read_trends(url: str, series: Series, seconds: float = SECONDS) -> tuple[Trend, ...]:
    """How each metric went over the runs of a series.

    Raises:
        LedgerError: they cannot be read.
    """
    return join_trends(asyncio.run(MetricsHistory(url, seconds).points(series)))


def with_trends(report: Report, url: str) -> Report:
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
        return replace(report, trends=read_trends(url, series, _READ_SECONDS))
    except LedgerError as error:
        problem = f"The trends of the branch {branch!r} could not be read: {error.problem}"
        raise LedgerError(problem, error.remedy) from None
