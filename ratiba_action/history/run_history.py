"""Earlier runs as the gate and its commands ask about them: of the ledger's database, or of files of runs without one.

``MetricsHistory`` in ``store.py`` asks the database, ``KeptRunHistory`` here reads files; one contract suite has both.
"""

import asyncio
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Protocol

from ratiba_action.errors import ConfigurationError, GithubError, InfrastructureError, LedgerError
from ratiba_action.history.artifacts import TRUSTED_EVENTS
from ratiba_action.history.keeping import record_of
from ratiba_action.history.run_files import BrokenFile, Load, RunFiles, StoredRun, problem_of
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
from ratiba_action.model.measurement import Scored
from ratiba_action.model.values import mean
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.reporting.measured_results import MeasuredReports
from ratiba_action.reporting.results_json import is_compressed

_REPEATS = 2_000
_MAX_HELD = 100_000_000
"""Bytes of compressed files that wait to be read: twice what a branch of runs has at most by default."""
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


@dataclass(slots=True)
class _HeldRun:
    """A run whose results are read when they are asked for.

    Args:
        summary: its record, without results unless ``whole`` is known.
        content: of the file, compressed; empty where ``whole`` is known.
        whole: with its results; None before they are read.
    """

    file: str
    summary: RunRecord
    content: bytes = b""
    whole: RunRecord | None = None


class KeptRunHistory:
    """Runs whose results are kept as files: on a branch of the repository, in a folder, or on GitHub.

    What the files say of the runs is read once, all at a time; the results of a run when a question needs them. No
    result is taken from anywhere else.

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
        self._found: tuple[_HeldRun, ...] | None = None
        self._broken: tuple[BrokenFile, ...] = ()
        self._since: datetime | None = None
        self._uncounted = 0
        self._failed: tuple[str, str] | None = None
        self._reports = MeasuredReports()
        self._lock = threading.RLock()
        self._asked, self._held_bytes = False, 0

    def begin(self) -> None:
        """Read the files in a thread of its own: whoever asks waits for it. What fails is said when somebody asks."""
        threading.Thread(target=self._begin, name="ratiba-history", daemon=True).start()

    def _begin(self) -> None:
        with suppress(LedgerError):
            self._read_once()

    def _read(self) -> tuple[_HeldRun, ...]:
        """The runs, the latest first, for a question."""
        self._asked = True
        return self._read_once()

    def _read_once(self) -> tuple[_HeldRun, ...]:
        with self._lock:
            if self._failed is not None:
                raise LedgerError(*self._failed)  # a server that does not answer is waited for once
            if self._found is None:
                self._found = self._read_all()
            return self._found

    def _read_all(self) -> tuple[_HeldRun, ...]:
        try:
            with self._open_files() as files:
                self._source = files.source
                chosen = sorted(files.files)[-self._maximum :] if self._maximum is not None else list(files.files)
                found = replace(files, files={name: files.files[name] for name in chosen}).read_each(self._held)
        except (ConfigurationError, GithubError, InfrastructureError) as error:
            self._failed = (f"The history could not be read: {error.problem}", error.remedy)
            raise LedgerError(*self._failed) from error
        runs = {_identity(held.summary): held for _, held in found.runs if held is not None}
        ordered = sorted(runs.values(), key=lambda held: held.summary.started_at, reverse=True)
        self._broken = found.broken
        self._uncounted = sum(held is None for _, held in found.runs)
        if ordered and len(chosen) < len(files.files):
            self._since = ordered[-1].summary.started_at.astimezone(UTC)
        return tuple(ordered)

    def _held(self, name: str, load: Load) -> _HeldRun | None:
        """A run; None where it does not count. What is not compressed is read in full: it would take too much room."""
        content = load.content() if isinstance(load, StoredRun) else b""
        compressed = is_compressed(content) and self._held_bytes + len(content) <= _MAX_HELD
        read = self._reports.summary if compressed else self._reports.report
        report = read(content) if content else load()
        if report.started_at.tzinfo is None:
            raise ConfigurationError(f"The time {report.started_at.isoformat()!r} has no time zone.")
        if report.shard is not None:
            raise ConfigurationError("It is of one shard, not of a whole run.")
        subject = report.subject
        if self._of_branches and (subject.pull_request is not None or subject.event not in TRUSTED_EVENTS):
            return None
        if compressed:
            self._held_bytes += len(content)
            return _HeldRun(name, record_of(report), content)
        whole = _record(report)
        return _HeldRun(name, whole, whole=whole)

    def _whole(self, held: _HeldRun) -> RunRecord | None:
        """A run with its results; None where they cannot be read: the file is then one of the broken ones."""
        with self._lock:
            if held.whole is None and held.content:
                try:
                    held.whole = _record(self._reports.report(held.content))
                except Exception as error:  # noqa: BLE001 - whatever somebody wrote into it, a file ends no run
                    self._broken = (*self._broken, BrokenFile(held.file, problem_of(error)))
                held.content = b""
            return held.whole

    def _own_values(self, held: _HeldRun, digests: frozenset[str]) -> tuple[KeptValue, ...] | None:
        """What judges gave some scenarios, without reading the others; None where it cannot be read."""
        with self._lock:
            if held.content:
                try:
                    return tuple(_values_of(self._reports.report(held.content, digests), digests))
                except Exception:  # noqa: BLE001 - whatever somebody wrote into it, a file ends no run
                    self._whole(held)
            return None if held.whole is None else tuple(_values(held.whole, digests))

    def _may_repeat(self, held: _HeldRun) -> bool:
        """Whether a judge may have given one transcript several scores in a run."""
        return not held.content or self._reports.has_votes(held.content)

    def _wholes(self, runs: Iterable[_HeldRun]) -> Iterator[RunRecord]:
        """Runs with their results, each read when it is taken."""
        return (whole for held in runs if (whole := self._whole(held)) is not None)

    @property
    def was_read(self) -> bool:
        """Whether a question has been asked, and the files could be read."""
        return self._asked and self._found is not None

    @property
    def source(self) -> str:
        """Where the runs come from, in words."""
        return self._source

    @property
    def count(self) -> int:
        """How many runs there are.

        Raises:
            LedgerError: they cannot be read.
        """
        return len(self._read())

    def records(self) -> Iterator[RunRecord]:
        """Every run, the latest first, each read when it is taken.

        Raises:
            LedgerError: they cannot be read.
        """
        return self._wholes(self._read())

    @property
    def broken(self) -> tuple[BrokenFile, ...]:
        """Files that hold no run, as far as they were looked at."""
        return self._broken

    @property
    def since(self) -> datetime | None:
        """See ``RunHistory``."""
        return self._since

    @property
    def uncounted(self) -> int:
        """Runs that were read and do not count, since the repository's own branches did not start them."""
        return self._uncounted

    async def _runs(self) -> tuple[_HeldRun, ...]:
        return await asyncio.to_thread(self._read)

    async def points(self, series: Series) -> tuple[TrendPoint, ...]:
        """The means of the last whole runs of the series."""
        meant = (
            held
            for held in await self._runs()
            if _is_of(held.summary, series) and _in_time(held.summary, series) and _is_whole(held.summary, _INCOMPLETE)
        )
        latest = await asyncio.to_thread(lambda: [*islice(self._wholes(meant), series.last)])
        return tuple(point for record in latest[::-1] for point in _points(record))

    async def agreements(self, series: Series) -> tuple[AgreementPoint, ...]:
        """Of the last runs of the gate that compared two judges."""
        summaries = (held.summary for held in await self._runs())
        meant = (
            summary
            for summary in summaries
            if summary.pairs
            and summary.gate == series.gate
            and series.repository in {"", summary.repository}
            and (series.before is None or summary.started_at < series.before)
        )
        return tuple(
            AgreementPoint(
                summary.started_at.astimezone(UTC),
                summary.commit,
                summary.judge_model,
                summary.second_model,
                summary.pairs,
                summary.same_side,
                summary.kappa,
            )
            for summary in [*islice(meant, series.last)][::-1]
        )

    async def repeats(
        self, repository: str, judge: str, before: datetime
    ) -> Mapping[tuple[str, str], Sequence[tuple[float, ...]]]:
        """What one judge gave the same transcript, the latest first."""
        meant = (
            held
            for held in await self._runs()
            if (held.summary.repository, held.summary.judge_model) == (repository, judge)
            and held.summary.started_at < before
            and self._may_repeat(held)
        )
        rows = (score for record in self._wholes(meant) for score in record.scores if len(score.repeats) > 1)
        found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
        for score in await asyncio.to_thread(lambda: [*islice(rows, _REPEATS)]):
            found.setdefault((score.metric, score.version), []).append(score.repeats)
        return found

    async def candidates(self, series: Series, commit: str = "") -> tuple[KeptRun, ...]:
        """Whole runs of the branch with a commit."""
        meant = (
            KeptRun(number, held.summary.commit, held.summary.started_at.astimezone(UTC), held.summary.judge_model,
                    str(held.summary.answers))
            for number, held in enumerate(await self._runs())
            if held.summary.commit
            and commit in {"", held.summary.commit}
            and _is_of(held.summary, series)
            and _in_time(held.summary, series)
            and _is_whole(held.summary)
            and self._whole(held) is not None
        )  # fmt: skip
        return await asyncio.to_thread(lambda: tuple(islice(meant, series.last)))

    async def scores(self, runs: Sequence[int]) -> tuple[KeptScore, ...]:
        """By the places that ``candidates`` gave."""
        held = await self._runs()
        meant = ((number, self._whole(held[number])) for number in sorted(runs))
        return tuple(row for number, record in meant if record is not None for row in _scores(number, record))

    async def own_values(self, series: Series, judge: str, own: str, digests: Sequence[str]) -> tuple[KeptValue, ...]:
        """One value of a run: trials of one run have more in common than two runs have."""
        held, wanted = await self._runs(), frozenset(digests)
        meant = (
            each
            for each in held
            if each.summary.answers == AnswerOrigin.LIVE
            and each.summary.judge_model == judge
            and not (own and each.summary.commit == own)
            and _is_of(each.summary, series)
            and _in_time(each.summary, series)
            and _is_whole(each.summary)
            and _had_ended(each.summary, series)
        )
        values = (found for each in meant if (found := self._own_values(each, wanted)) is not None)
        return await asyncio.to_thread(lambda: tuple(value for found in islice(values, series.last) for value in found))

    async def decline(self, series: Series) -> KeptDecline | None:
        """Of the latest run that has an anchor."""
        for summary in (held.summary for held in await self._runs()):
            if summary.anchor and _is_of(summary, series) and _in_time(summary, replace(series, since=None)):
                return KeptDecline(summary.started_at.astimezone(UTC), summary.commit, summary.anchor, summary.decline)
        return None


def _record(report: Report) -> RunRecord:
    """The record of a run with its results.

    Raises:
        ConfigurationError: a score is none.
    """
    record = record_of(report)
    for score in record.scores:
        _require_score(score.metric, score.score)
    return record


def _require_score(metric: str, value: float) -> None:
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise ConfigurationError(f"The score of {metric!r:.80} is {value!r}, not from 0 to 1.")


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


def _values_of(report: Report, digests: frozenset[str]) -> Iterator[KeptValue]:
    """The same of a report."""
    began = report.started_at.astimezone(UTC)
    for result in report.results:
        digest = report.scenario_digests.get(result.trial.scenario.id, "")
        if not isinstance(result, Scored) or result.trial.number or digest not in digests:
            continue
        for score in result.scores:
            _require_score(score.metric, score.value)
            if score.judged:
                yield KeptValue(digest, score.metric, score.version, began, score.value)
