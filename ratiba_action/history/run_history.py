"""Earlier runs as the gate and its commands ask about them: of the ledger's database, or of files of runs without one.

``MetricsHistory`` in ``store.py`` asks the database, ``KeptRunHistory`` here reads files; one contract suite has both.
"""

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Protocol

from ratiba_action.errors import ConfigurationError, GithubError, InfrastructureError, LedgerError
from ratiba_action.history.artifacts import TRUSTED_EVENTS
from ratiba_action.history.keeping import record_of
from ratiba_action.history.run_files import BrokenFile, RunFiles
from ratiba_action.history.store import Series
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.history import (
    AgreementPoint,
    KeptDecline,
    KeptRun,
    KeptScore,
    KeptValue,
    RunRecord,
    ScoreRecord,
    TrendPoint,
)
from ratiba_action.model.values import mean
from ratiba_action.model.verdict import Conclusion, Report

_REPEATS = 2_000
_UNFINISHED = frozenset({Conclusion.INCOMPLETE.value, Conclusion.SKIPPED.value})


class RunHistory(Protocol):
    """Earlier runs of a repository; every method raises LedgerError where they cannot be read."""

    @property
    def source(self) -> str:
        """Where the runs come from, in words."""
        ...

    @property
    def since(self) -> datetime | None:
        """When the oldest run began that was read, where older ones were not; None where none was left out."""
        ...

    async def points(self, series: Series) -> tuple[TrendPoint, ...]:
        """The mean of each metric in each whole run of a series, the oldest first."""
        ...

    async def agreements(self, series: Series) -> tuple[AgreementPoint, ...]:
        """How far two judges agreed in each run of a gate that compared them, on any branch, the oldest first."""
        ...

    async def repeats(
        self, repository: str, judge: str, before: datetime
    ) -> Mapping[tuple[str, str], Sequence[tuple[float, ...]]]:
        """Scores that a judge gave one transcript several times, by the metric's name and version."""
        ...

    async def candidates(self, series: Series, commit: str = "") -> tuple[KeptRun, ...]:
        """Whole runs of a branch that an anchor may be chosen from, the latest first.

        Args:
            commit: the only one that is meant; empty for all.
        """
        ...

    async def scores(self, runs: Sequence[int]) -> tuple[KeptScore, ...]:
        """Every score of some runs, and a row for each trial without one."""
        ...

    async def own_values(self, series: Series, judge: str, own: str, digests: Sequence[str]) -> tuple[KeptValue, ...]:
        """What a judge gave scenarios in whole runs of a branch with live answers, the latest first.

        Args:
            series: of the branch; runs that had not ended at ``before`` do not count either.
            own: commit whose runs do not count; empty for none.
        """
        ...

    async def decline(self, series: Series) -> KeptDecline | None:
        """What the latest run of a branch that was compared with an anchor came to; None where none was."""
        ...


class KeptRunHistory:
    """Runs whose results are kept as files: on a branch of the repository, in a folder, or on GitHub.

    They are read once, when the first question comes.

    Args:
        named: where they come from, in words, until they have been read.
        open_files: the files, to be read while the context is open.
        maximum: how many of them are read at most, the last ones by name; None for all.
        of_branches: only runs that the repository's own branches started count, whoever wrote the files.
    """

    def __init__(
        self,
        named: str,
        open_files: Callable[[], AbstractContextManager[RunFiles]],
        *,
        maximum: int | None = None,
        of_branches: bool = False,
    ) -> None:
        self._source = named
        self._open_files = open_files
        self._maximum = maximum
        self._of_branches = of_branches
        self._found: tuple[tuple[RunRecord, ...], tuple[BrokenFile, ...]] | None = None
        self._since: datetime | None = None
        self._uncounted = 0
        self._failed: tuple[str, str] | None = None

    def _read(self) -> tuple[tuple[RunRecord, ...], tuple[BrokenFile, ...]]:
        """The records, the latest first, and what could not be read."""
        if self._failed is not None:
            raise LedgerError(*self._failed)  # a server that does not answer is waited for once
        if self._found is None:
            self._found = self._read_all()
        return self._found

    def _read_all(self) -> tuple[tuple[RunRecord, ...], tuple[BrokenFile, ...]]:
        try:
            with self._open_files() as files:
                self._source = files.source
                chosen = sorted(files.files)[-self._maximum :] if self._maximum is not None else list(files.files)
                found = replace(files, files={name: files.files[name] for name in chosen}).read(self._record)
        except (ConfigurationError, GithubError, InfrastructureError) as error:
            self._failed = (f"The history could not be read: {error.problem}", error.remedy)
            raise LedgerError(*self._failed) from error
        records = {_identity(record): record for _, record in found.runs if record is not None}
        ordered = sorted(records.values(), key=lambda record: record.started_at, reverse=True)
        self._uncounted = sum(record is None for _, record in found.runs)
        if ordered and len(chosen) < len(files.files):
            self._since = ordered[-1].started_at.astimezone(UTC)
        return tuple(ordered), found.broken

    def _record(self, report: Report) -> RunRecord | None:
        if report.started_at.tzinfo is None:
            raise ConfigurationError(f"The time {report.started_at.isoformat()!r} has no time zone.")
        if report.shard is not None:
            raise ConfigurationError("It is of one shard, not of a whole run.")
        subject = report.subject
        if self._of_branches and (subject.pull_request is not None or subject.event not in TRUSTED_EVENTS):
            return None
        record = record_of(report)
        wrong = [score for score in record.scores if not (math.isfinite(score.score) and 0 <= score.score <= 1)]
        if wrong:
            raise ConfigurationError(f"The score of {wrong[0].metric!r:.80} is {wrong[0].score!r}, not from 0 to 1.")
        return record

    @property
    def was_read(self) -> bool:
        """Whether a question has been asked."""
        return self._found is not None

    @property
    def source(self) -> str:
        """Where the runs come from, in words."""
        return self._source

    def records(self) -> tuple[RunRecord, ...]:
        """Every run, the latest first.

        Raises:
            LedgerError: they cannot be read.
        """
        return self._read()[0]

    @property
    def broken(self) -> tuple[BrokenFile, ...]:
        """Files that hold no run."""
        return self._read()[1]

    @property
    def since(self) -> datetime | None:
        """See ``RunHistory``."""
        return self._since

    @property
    def uncounted(self) -> int:
        """Runs that were read and do not count, since the repository's own branches did not start them."""
        return self._uncounted

    async def _records(self) -> tuple[RunRecord, ...]:
        return await asyncio.to_thread(self.records)

    async def points(self, series: Series) -> tuple[TrendPoint, ...]:
        """The means of the last whole runs of the series."""
        records = await self._records()
        meant = (
            record
            for record in records
            if _is_of(record, series) and _in_time(record, series) and _is_whole(record, _INCOMPLETE)
        )
        return tuple(point for record in [*islice(meant, series.last)][::-1] for point in _points(record))

    async def agreements(self, series: Series) -> tuple[AgreementPoint, ...]:
        """Of the last runs of the gate that compared two judges."""
        records = await self._records()
        meant = (
            record
            for record in records
            if record.pairs
            and record.gate == series.gate
            and series.repository in {"", record.repository}
            and (series.before is None or record.started_at < series.before)
        )
        return tuple(
            AgreementPoint(
                record.started_at.astimezone(UTC),
                record.commit,
                record.judge_model,
                record.second_model,
                record.pairs,
                record.same_side,
                record.kappa,
            )
            for record in [*islice(meant, series.last)][::-1]
        )

    async def repeats(
        self, repository: str, judge: str, before: datetime
    ) -> Mapping[tuple[str, str], Sequence[tuple[float, ...]]]:
        """What one judge gave the same transcript, the latest first."""
        records = await self._records()
        rows = (
            score
            for record in records
            if record.repository == repository and record.started_at < before
            for score in record.scores
            if score.judge_model == judge and len(score.repeats) > 1
        )
        found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
        for score in islice(rows, _REPEATS):
            found.setdefault((score.metric, score.version), []).append(score.repeats)
        return found

    async def candidates(self, series: Series, commit: str = "") -> tuple[KeptRun, ...]:
        """Whole runs of the branch with a commit."""
        records = await self._records()
        meant = (
            KeptRun(number, record.commit, record.started_at.astimezone(UTC), record.judge_model, str(record.answers))
            for number, record in enumerate(records)
            if record.commit
            and commit in {"", record.commit}
            and _is_of(record, series)
            and _in_time(record, series)
            and _is_whole(record)
        )
        return tuple(islice(meant, series.last))

    async def scores(self, runs: Sequence[int]) -> tuple[KeptScore, ...]:
        """By the places that ``candidates`` gave."""
        records = await self._records()
        return tuple(row for number in sorted(runs) for row in _scores(number, records[number]))

    async def own_values(self, series: Series, judge: str, own: str, digests: Sequence[str]) -> tuple[KeptValue, ...]:
        """One value of a run: trials of one run have more in common than two runs have."""
        records, wanted = await self._records(), frozenset(digests)
        meant = (
            record
            for record in records
            if record.answers == AnswerOrigin.LIVE
            and record.judge_model == judge
            and not (own and record.commit == own)
            and _is_of(record, series)
            and _in_time(record, series)
            and _is_whole(record)
            and _had_ended(record, series)
        )
        return tuple(value for record in islice(meant, series.last) for value in _values(record, wanted))

    async def decline(self, series: Series) -> KeptDecline | None:
        """Of the latest run that has an anchor."""
        for record in await self._records():
            if record.anchor and _is_of(record, series) and _in_time(record, replace(series, since=None)):
                return KeptDecline(record.started_at.astimezone(UTC), record.commit, record.anchor, record.decline)
        return None


_INCOMPLETE = frozenset({Conclusion.INCOMPLETE.value})


def _identity(record: RunRecord) -> tuple[object, ...]:
    return (record.repository, record.gate, record.commit, record.run_id, record.run_attempt, record.started_at)


def _is_of(record: RunRecord, series: Series) -> bool:
    """Whether it is a run of the series' branch itself; an empty repository stands for any."""
    named = (record.gate, record.branch) == (series.gate, series.branch)
    return named and series.repository in {"", record.repository}


def _in_time(record: RunRecord, series: Series) -> bool:
    early = series.before is None or record.started_at < series.before
    return early and (series.since is None or record.started_at >= series.since)


def _had_ended(record: RunRecord, series: Series) -> bool:
    seconds = record.seconds if math.isfinite(record.seconds) and 0 <= record.seconds < _A_YEAR else 0.0
    return series.before is None or record.started_at + timedelta(seconds=seconds) < series.before


_A_YEAR = 365 * 86_400


def _is_whole(record: RunRecord, without: frozenset[str] = _UNFINISHED) -> bool:
    return record.mode == Mode.BLOCKING and record.conclusion not in without


def _points(record: RunRecord) -> Iterator[TrendPoint]:
    groups: dict[tuple[str, str, str], list[ScoreRecord]] = {}
    for score in record.scores:
        groups.setdefault((score.metric, score.version, score.judge_model), []).append(score)
    for (metric, version, judge), found in groups.items():
        value = mean([score.score for score in found])
        if math.isfinite(value):
            yield TrendPoint(
                record.started_at.astimezone(UTC),
                record.commit,
                metric,
                version,
                judge,
                str(record.answers),
                record.suite_version,
                value,
                len(found),
                max(score.threshold for score in found),
                max(score.required for score in found),
            )


def _scores(number: int, record: RunRecord) -> Iterator[KeptScore]:
    found: dict[tuple[str, int], list[ScoreRecord]] = {}
    for score in record.scores:
        found.setdefault((score.scenario, score.trial), []).append(score)
    for result in sorted(record.results, key=lambda each: (each.scenario, each.trial)):
        about = (number, result.scenario, result.trial, result.status, result.digest)
        scores = sorted(found.get((result.scenario, result.trial), ()), key=lambda score: score.metric)
        for score in scores:
            yield KeptScore(*about, score.metric, score.version, bool(score.judge_model), score.score)
        if not scores:
            yield KeptScore(*about)


def _values(record: RunRecord, digests: frozenset[str]) -> Iterator[KeptValue]:
    known = {result.scenario: result.digest for result in record.results if result.trial == 0}
    for score in record.scores:
        digest = known.get(score.scenario, "")
        if score.trial == 0 and score.judge_model and digest in digests:
            began = record.started_at.astimezone(UTC)
            yield KeptValue(digest, score.metric, score.version, began, score.score)
