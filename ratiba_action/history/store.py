"""The metrics history in the ledger's database."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from ratiba_action.errors import LedgerError
from ratiba_action.history.schema import ensure_tables, reaches, revision_of
from ratiba_action.model.history import (
    AgreementPoint,
    KeptDecline,
    KeptRun,
    KeptScore,
    KeptValue,
    ResultRecord,
    RunRecord,
    ScoreRecord,
    TrendPoint,
)
from ratiba_action.money.connection import LedgerConnection

SECONDS = 20.0
LAST = 20
"""Runs that a trend shows."""

# None of the statements changes or removes a row.
_WRITE = """
WITH run AS (
    INSERT INTO ratiba_history.run (
        repository, gate, commit, run_id, run_attempt, started_at, event, branch, pull_request, suite_version, mode,
        conclusion, answers, judge_model, spent_usd, seconds, trials, second_model, pairs, same_side, kappa,
        anchor, decline
    )
    SELECT * FROM json_to_record(%(run)s::json) AS given (
        repository text, gate text, commit text, run_id bigint, run_attempt integer, started_at timestamptz,
        event text, branch text, pull_request bigint, suite_version text, mode text, conclusion text, answers text,
        judge_model text, spent_usd numeric, seconds double precision, trials integer, second_model text, pairs integer,
        same_side double precision, kappa double precision, anchor text, decline double precision
    )
    ON CONFLICT DO NOTHING
    RETURNING id
), result AS (
    INSERT INTO ratiba_history.result (run, scenario, trial, status, digest)
    SELECT run.id, given.* FROM run, json_to_recordset(%(results)s::json) AS given (
        scenario text, trial integer, status text, digest text
    )
), metric AS (
    INSERT INTO ratiba_history.metric (
        run, scenario, trial, metric, version, judge_model, score, threshold, status, required, repeats,
        answered_by
    )
    SELECT run.id, given.* FROM run, json_to_recordset(%(scores)s::json) AS given (
        scenario text, trial integer, metric text, version text, judge_model text, score double precision,
        threshold double precision, status text, required text, repeats double precision[],
        answered_by text
    )
)
SELECT count(*) FROM run
"""
"""Writes a run with all that belongs to it, or nothing where it is there; gives how many runs are new."""

_TRENDS = """
WITH latest AS (
    SELECT id, started_at, commit, answers, suite_version
    FROM ratiba_history.run
    WHERE repository = %(repository)s AND gate = %(gate)s AND branch = %(branch)s
        AND mode = 'blocking' AND conclusion <> 'incomplete'
        AND started_at < coalesce(%(before)s::timestamptz, 'infinity')
        AND started_at >= coalesce(%(since)s::timestamptz, '-infinity')
    ORDER BY started_at DESC, id DESC
    LIMIT %(last)s
)
SELECT latest.started_at, latest.commit, metric.metric, metric.version, metric.judge_model, latest.answers,
    latest.suite_version, avg(metric.score), count(*), max(metric.threshold), {required}
FROM latest JOIN ratiba_history.metric ON metric.run = latest.id
GROUP BY latest.id, latest.started_at, latest.commit, latest.answers, latest.suite_version, metric.metric,
    metric.version, metric.judge_model
ORDER BY latest.started_at, latest.id
"""
"""Means of the last whole runs of a branch: advisory ones run other scenarios, incomplete ones too few."""

_REPEATS = """
SELECT metric.metric, metric.version, metric.repeats
FROM ratiba_history.run JOIN ratiba_history.metric ON metric.run = run.id
WHERE run.repository = %(repository)s AND metric.judge_model = %(judge)s AND cardinality(metric.repeats) > 1
    AND run.started_at < %(before)s::timestamptz
ORDER BY run.started_at DESC, run.id DESC
LIMIT 2000
"""
"""What one judge gave the same transcript, the latest first."""

_AGREEMENTS = """
SELECT * FROM (
    SELECT started_at, commit, judge_model, second_model, pairs, same_side, kappa
    FROM ratiba_history.run
    WHERE repository = %(repository)s AND gate = %(gate)s AND pairs > 0
        AND started_at < coalesce(%(before)s::timestamptz, 'infinity')
    ORDER BY started_at DESC, id DESC
    LIMIT %(last)s
) AS latest ORDER BY started_at
"""

_CANDIDATES = """
SELECT id, commit, started_at, judge_model, answers
FROM ratiba_history.run
WHERE repository = %(repository)s AND gate = %(gate)s AND branch = %(branch)s
    AND mode = 'blocking' AND conclusion NOT IN ('incomplete', 'skipped') AND commit <> ''
    AND started_at < coalesce(%(before)s::timestamptz, 'infinity')
    AND started_at >= coalesce(%(since)s::timestamptz, '-infinity')
    AND (%(commit)s = '' OR commit = %(commit)s)
ORDER BY started_at DESC, id DESC
LIMIT %(last)s
"""
"""Whole runs of a branch, the latest first."""

_SCORES = """
SELECT result.run, result.scenario, result.trial, result.status, result.digest, coalesce(metric.metric, ''),
    coalesce(metric.version, ''), coalesce(metric.judge_model, '') <> '', coalesce(metric.score, 0)
FROM ratiba_history.result
LEFT JOIN ratiba_history.metric
    ON (metric.run, metric.scenario, metric.trial) = (result.run, result.scenario, result.trial)
WHERE result.run = ANY(%(runs)s::bigint[])
ORDER BY result.run, result.scenario, result.trial, metric.metric
"""

_RUN_COLUMNS = (
    *("repository", "gate", "commit", "run_id", "run_attempt", "started_at", "event", "branch", "pull_request"),
    *("suite_version", "mode", "conclusion", "answers", "judge_model", "spent_usd", "seconds", "trials"),
    *("second_model", "pairs", "same_side", "kappa", "anchor", "decline"),
)

_RECORDS = """
SELECT id, {columns}
FROM ratiba_history.run
WHERE gate = %(gate)s AND (%(repository)s = '' OR repository = %(repository)s)
ORDER BY started_at DESC, id DESC
LIMIT %(last)s
"""

_RESULTS = "SELECT run, scenario, trial, status, digest FROM ratiba_history.result WHERE run = ANY(%(runs)s::bigint[])"

_METRICS = """
SELECT run, scenario, trial, metric, version, judge_model, score, threshold, status, required
FROM ratiba_history.metric WHERE run = ANY(%(runs)s::bigint[])
"""

_OWN_VALUES = """
WITH latest AS (
    SELECT id, started_at FROM ratiba_history.run
    WHERE repository = %(repository)s AND gate = %(gate)s AND branch = %(branch)s
        AND mode = 'blocking' AND conclusion NOT IN ('incomplete', 'skipped') AND answers = 'live'
        AND judge_model = %(judge)s AND (%(own)s = '' OR commit <> %(own)s)
        AND started_at < coalesce(%(before)s::timestamptz, 'infinity')
        AND written_at < coalesce(%(before)s::timestamptz, 'infinity')
    ORDER BY started_at DESC, id DESC
    LIMIT %(last)s
)
SELECT result.digest, metric.metric, metric.version, latest.started_at, metric.score
FROM latest
JOIN ratiba_history.result ON result.run = latest.id AND result.trial = 0
JOIN ratiba_history.metric ON (metric.run, metric.scenario, metric.trial) = (result.run, result.scenario, 0)
WHERE result.digest = ANY(%(digests)s::text[]) AND metric.judge_model <> ''
ORDER BY latest.started_at DESC, latest.id DESC
"""
"""One value of a run: trials of one run have more in common than two runs have. Recorded scores are copies.

Whoever asks again later finds the same: a run that had begun by then and was written afterwards does not count.
"""

_DECLINE = """
SELECT started_at, commit, anchor, decline
FROM ratiba_history.run
WHERE repository = %(repository)s AND gate = %(gate)s AND branch = %(branch)s AND anchor <> ''
    AND started_at < coalesce(%(before)s::timestamptz, 'infinity')
ORDER BY started_at DESC, id DESC
LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Series:
    """Which runs a trend is of.

    Args:
        branch: whose own runs are meant.
        last: at most so many.
        before: only runs that began before it; None for all.
        since: only runs that began at it or later; None for all.
    """

    repository: str
    gate: str
    branch: str
    last: int = LAST
    before: datetime | None = None
    since: datetime | None = None


class MetricsHistory:
    """Runs, their results and their scores; rows are added and never changed.

    Args:
        url: connection string of the ledger's database.
        seconds: after which a write or a read is given up.
    """

    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        self._url = url
        self._seconds = seconds

    @property
    def source(self) -> str:
        """Where the runs come from, in words."""
        return "the ledger's database"

    @property
    def since(self) -> datetime | None:
        """None: nothing is left out by its age."""
        return None

    async def write(self, record: RunRecord) -> bool:
        """Add a run with all that belongs to it, or nothing; makes the tables where there are none.

        Returns:
            False where the run is there already.

        Raises:
            LedgerError: the run could not be written.
        """
        values = _values(record)
        async with self._connected() as connection:
            await ensure_tables(connection)
            # It may run twice: what is there already is not added again.
            ((new,),) = await connection.fetch_surely(_WRITE, values)
        return bool(new)

    async def prepare(self) -> None:
        """Make the tables, or bring them up to date.

        Raises:
            LedgerError: they could not be made.
        """
        async with self._connected() as connection:
            await ensure_tables(connection)

    async def points(self, series: Series) -> tuple[TrendPoint, ...]:
        """The mean of each metric in each run of a series, the oldest first; none where there are no tables.

        Raises:
            LedgerError: they cannot be read.
        """
        async with self._connected() as connection:
            made = await revision_of(connection, "SELECT")
            # A role that may only read meets tables that nobody has brought up to date.
            required = "max(metric.required)" if reaches(made, "required") else "''"
            rows = await connection.fetch_surely(_TRENDS.format(required=required), asdict(series)) if made else []
        return tuple(TrendPoint(row[0].astimezone(UTC), *row[1:]) for row in rows)

    async def repeats(
        self, repository: str, judge: str, before: datetime
    ) -> dict[tuple[str, str], list[tuple[float, ...]]]:
        """Scores that a judge gave one transcript several times, by the metric's name and version.

        Args:
            before: only runs that began before it.

        Raises:
            LedgerError: they cannot be read.
        """
        values = {"repository": repository, "judge": judge, "before": before}
        found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
        for metric, version, scores in await self._rows("judges", _REPEATS, values):
            found.setdefault((metric, version), []).append(tuple(scores))
        return found

    async def agreements(self, series: Series) -> tuple[AgreementPoint, ...]:
        """How far two judges agreed in each run of a gate that compared them, on any branch, the oldest first.

        Raises:
            LedgerError: they cannot be read.
        """
        rows = await self._rows("judges", _AGREEMENTS, asdict(series))
        return tuple(AgreementPoint(row[0].astimezone(UTC), *row[1:]) for row in rows)

    async def candidates(self, series: Series, commit: str = "") -> tuple[KeptRun, ...]:
        """Whole runs of a branch that an anchor may be chosen from, the latest first.

        Args:
            commit: the only one that is meant; empty for all.

        Raises:
            LedgerError: they cannot be read.
        """
        rows = await self._rows("decline", _CANDIDATES, {**asdict(series), "commit": commit})
        return tuple(KeptRun(row[0], row[1], row[2].astimezone(UTC), *row[3:]) for row in rows)

    async def scores(self, runs: Sequence[int]) -> tuple[KeptScore, ...]:
        """Every score of some runs, and a row for each trial without one.

        Raises:
            LedgerError: they cannot be read.
        """
        return tuple(KeptScore(*row) for row in await self._rows("decline", _SCORES, {"runs": list(runs)}))

    async def records(self, gate: str, repository: str, last: int) -> tuple[RunRecord, ...]:
        """Runs of a gate with their results and scores, the latest first.

        Args:
            repository: ``owner/name``; empty for any.
            last: at most so many.

        Raises:
            LedgerError: they cannot be read.
        """
        wanted = {"gate": gate, "repository": repository, "last": last}
        runs = await self._rows("decline", _RECORDS.format(columns=", ".join(_RUN_COLUMNS)), wanted)
        ids = {"runs": [row[0] for row in runs]}
        results: dict[int, list[ResultRecord]] = {}
        for row in await self._rows("decline", _RESULTS, ids):
            results.setdefault(row[0], []).append(ResultRecord(*row[1:]))
        scores: dict[int, list[ScoreRecord]] = {}
        for row in await self._rows("required", _METRICS, ids):
            scores.setdefault(row[0], []).append(ScoreRecord(*row[1:]))
        return tuple(
            RunRecord(
                **{
                    **dict(zip(_RUN_COLUMNS, row[1:], strict=True)),
                    "started_at": row[6].astimezone(UTC),
                    "results": tuple(results.get(row[0], ())),
                    "scores": tuple(scores.get(row[0], ())),
                }
            )
            for row in runs
        )

    async def own_values(self, series: Series, judge: str, own: str, digests: Sequence[str]) -> tuple[KeptValue, ...]:
        """What a judge gave scenarios in whole runs of a branch with live answers, the latest first.

        Args:
            series: of the branch; runs that were written at ``before`` or later do not count either.
            own: commit whose runs do not count; empty for none.

        Raises:
            LedgerError: they cannot be read.
        """
        values = {**asdict(series), "judge": judge, "own": own, "digests": list(digests)}
        rows = await self._rows("decline", _OWN_VALUES, values)
        return tuple(KeptValue(row[0], row[1], row[2], row[3].astimezone(UTC), row[4]) for row in rows)

    async def decline(self, series: Series) -> KeptDecline | None:
        """What the latest run of a branch that was compared with an anchor came to; None where none was.

        Raises:
            LedgerError: it cannot be read.
        """
        rows = await self._rows("decline", _DECLINE, asdict(series))
        return KeptDecline(rows[0][0].astimezone(UTC), *rows[0][1:]) if rows else None

    async def _rows(self, revision: str, statement: str, values: Mapping[str, Any]) -> Sequence[tuple[Any, ...]]:
        """The rows of a statement; none where the tables do not have its columns yet."""
        async with self._connected() as connection:
            made = await revision_of(connection, "SELECT")
            return await connection.fetch_surely(statement, values) if reaches(made, revision) else []

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[LedgerConnection]:
        connection = LedgerConnection(self._url)
        try:
            async with asyncio.timeout(self._seconds):
                yield connection
        except TimeoutError:
            raise LedgerError(
                f"The ledger's database did not answer within {self._seconds:g} s.",
                "Check RATIBA_LEDGER_URL and its server.",
            ) from None
        finally:
            await connection.close()


def _values(record: RunRecord) -> Mapping[str, str]:
    """The statement's values: each is one JSON document, so that no text of a run is part of a statement."""
    run = {name: value for name, value in asdict(record).items() if name not in {"results", "scores"}}
    return {
        "run": _json(run),
        "results": _json(map(asdict, record.results)),
        "scores": _json(map(asdict, record.scores)),
    }


def _json(value: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> str:
    rows: Any = _storable(value) if isinstance(value, Mapping) else [_storable(row) for row in value]
    try:
        return json.dumps(rows, allow_nan=False)
    except ValueError:
        raise LedgerError("A score or a time of the run is no number.", "Run the gate again.") from None


def _storable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        # PostgreSQL stores neither: a NUL ends a text, and half a surrogate pair is no character.
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, datetime) else value
