"""Runs while they go on, and how they ended, in the ledger's database; the commands ``status`` and ``wait`` read it."""

import asyncio
import json
import time
import uuid
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ratiba_action.errors import LedgerError
from ratiba_action.history.schema import ensure_tables, reaches, revision_of
from ratiba_action.money.connection import LedgerConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_BEGIN_SECONDS = 10.0
_END_SECONDS = 20.0
_GRACE = 600.0
"""Seconds after its deadline in which a run publishes its report."""

_UNBOUNDED = 86_400.0
"""Seconds in which a run without a deadline is thought to go on."""

_BEGIN = """
INSERT INTO ratiba_history.execution (id, repository, gate, commit, run_id, run_attempt, mode, seconds)
VALUES (%(id)s, %(repository)s, %(gate)s, %(commit)s, %(run_id)s, %(run_attempt)s, %(mode)s, %(seconds)s)
ON CONFLICT DO NOTHING
"""
_END = """
INSERT INTO ratiba_history.ending (execution, outcome) VALUES (%(id)s, %(outcome)s::json) ON CONFLICT DO NOTHING
"""
_READ = """
SELECT execution.id::text, execution.repository, execution.gate, execution.commit, execution.run_id,
    execution.run_attempt, execution.mode, execution.started_at, ending.ended_at, ending.outcome,
    execution.started_at + make_interval(secs => execution.seconds) < clock_timestamp()
FROM ratiba_history.execution LEFT JOIN ratiba_history.ending ON ending.execution = execution.id
WHERE (%(id)s::uuid IS NULL OR execution.id = %(id)s::uuid)
    AND (%(run_id)s::bigint IS NULL OR execution.run_id = %(run_id)s::bigint)
    AND (%(gate)s::text IS NULL OR execution.gate = %(gate)s::text)
    AND (%(repository)s::text IS NULL OR execution.repository = %(repository)s::text)
ORDER BY execution.started_at DESC, execution.id
LIMIT %(last)s
"""


class ExecutionStatus(StrEnum):
    """How far a run is."""

    RUNNING = "running"
    COMPLETED = "completed"
    LOST = "lost"
    """It has not ended and its deadline has passed: it was killed, or could not write how it ended."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of a gate.

    Args:
        execution_id: UUID that names it.
        run_id: id of the workflow run; 0 outside one.
        ended_at: None where it has not ended.
        outcome: outputs and results of one that has ended; empty before.
    """

    execution_id: str
    status: ExecutionStatus
    repository: str
    gate: str
    commit: str
    run_id: int
    run_attempt: int
    mode: str
    started_at: datetime
    ended_at: datetime | None
    outcome: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExecutionFilter:
    """Which runs are read, the latest first; None for any.

    Args:
        last: at most so many.
    """

    id: str | None = None
    run_id: int | None = None
    gate: str | None = None
    repository: str | None = None
    last: int = 1


@dataclass(frozen=True, slots=True)
class BegunExecution:
    """What is written of a run that begins.

    Args:
        seconds: that it may take; None for any number.
    """

    repository: str
    gate: str
    commit: str
    run_id: int
    run_attempt: int
    mode: str
    seconds: float | None = None


def begin_execution(url: str, begun: BegunExecution) -> str:
    """Write down that a run begins; gives its id.

    Raises:
        LedgerError: it could not be written.
    """
    name = str(uuid.uuid4())
    values = {field: getattr(begun, field) for field in ("run_id", "run_attempt")}
    values |= {field: _storable(getattr(begun, field)) for field in ("repository", "gate", "commit", "mode")}
    seconds = _UNBOUNDED if begun.seconds is None else begun.seconds + _GRACE
    asyncio.run(_write(url, _BEGIN, {"id": name, "seconds": seconds, **values}, _BEGIN_SECONDS))
    return name


def end_execution(url: str, name: str, outcome: Mapping[str, Any]) -> None:
    """Write down how a run ended.

    Args:
        url: connection string of the ledger's database.
        outcome: outputs and results; masked already.

    Raises:
        LedgerError: it could not be written.
    """
    content = _storable(json.dumps(outcome, allow_nan=False))
    asyncio.run(_write(url, _END, {"id": name, "outcome": content}, _END_SECONDS))


def read_executions(url: str, wanted: ExecutionFilter) -> tuple[Execution, ...]:
    """The runs that are wanted; none where there are no tables.

    Raises:
        LedgerError: they cannot be read.
    """
    return asyncio.run(_read(url, wanted))


def wait_for(url: str, wanted: ExecutionFilter, seconds: float, pause: float = 2.0) -> Execution | None:
    """A run once it has ended or was lost; as it is when the time is over, None where it has not begun by then.

    Raises:
        LedgerError: it cannot be read.
    """
    ends = time.monotonic() + seconds
    while True:
        found = next(iter(read_executions(url, wanted)), None)
        left = ends - time.monotonic()
        if (found is not None and found.status is not ExecutionStatus.RUNNING) or left <= 0:
            return found
        time.sleep(min(pause, left))


async def _write(url: str, statement: str, values: Mapping[str, Any], seconds: float) -> None:
    async with _connected(url, seconds) as connection:
        await ensure_tables(connection)
        # It may run twice: what is there already is not added again.
        await connection.fetch_surely(f"{statement} RETURNING 1", values)


async def _read(url: str, wanted: ExecutionFilter) -> tuple[Execution, ...]:
    values = {field: getattr(wanted, field) for field in ExecutionFilter.__dataclass_fields__}
    async with _connected(url, _END_SECONDS) as connection:
        made = await revision_of(connection, "SELECT")
        rows = await connection.fetch_surely(_READ, values) if reaches(made, "execution") else []
    return tuple(map(_execution, rows))


def _execution(row: tuple[Any, ...]) -> Execution:
    *facts, started, ended, outcome, late = row
    unfinished = ExecutionStatus.LOST if late else ExecutionStatus.RUNNING
    names = ("execution_id", "repository", "gate", "commit", "run_id", "run_attempt", "mode")
    return Execution(
        status=unfinished if ended is None else ExecutionStatus.COMPLETED,
        started_at=started.astimezone(UTC),
        ended_at=None if ended is None else ended.astimezone(UTC),
        outcome=outcome or {},
        **dict(zip(names, facts, strict=True)),
    )


@asynccontextmanager
async def _connected(url: str, seconds: float) -> "AsyncIterator[LedgerConnection]":
    connection = LedgerConnection(url)
    try:
        async with asyncio.timeout(seconds):
            yield connection
    except TimeoutError:
        raise LedgerError(
            f"The ledger's database did not answer within {seconds:g} s.", "Check RATIBA_LEDGER_URL and its server."
        ) from None
    finally:
        await connection.close()


def _storable(text: str) -> str:
    """As PostgreSQL stores it: without NUL and half a surrogate pair, written out in JSON or not."""
    return text.replace("\\u0000", "\\ufffd").replace("\0", "\ufffd").encode("utf-8", "replace").decode()
