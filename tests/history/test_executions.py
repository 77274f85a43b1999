"""A run is found by those who wait for it: while it goes on, when it has ended, and when it was lost."""

import asyncio
import time
import uuid
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from ratiba_action.errors import LedgerError
from ratiba_action.history.executions import (
    BegunExecution,
    Execution,
    ExecutionFilter,
    ExecutionStatus,
    begin_execution,
    end_execution,
    read_executions,
    wait_for,
)
from ratiba_action.history.store import MetricsHistory
from tests.support.sql import fetch, run_sql

BEGUN = BegunExecution("shop/bot", "ratiba", "c" * 40, 77, 1, "blocking", seconds=60)
OUTCOME = {"exit_code": 1, "conclusion": "failed", "passed": 1, "failed": 1, "results": []}


async def begin(url: str, begun: BegunExecution = BEGUN) -> str:
    return await asyncio.to_thread(begin_execution, url, begun)


async def end(url: str, name: str, outcome: Mapping[str, Any] = OUTCOME) -> None:
    await asyncio.to_thread(end_execution, url, name, outcome)


async def read(url: str, wanted: ExecutionFilter) -> tuple[Execution, ...]:
    return await asyncio.to_thread(read_executions, url, wanted)


async def test_a_run_is_running_until_it_has_ended(database: str) -> None:
    assert await read(database, ExecutionFilter()) == ()
    name = await begin(database)
    (running,) = await read(database, ExecutionFilter(id=name))
    assert (running.status, running.outcome, running.ended_at) == (ExecutionStatus.RUNNING, {}, None)
    await end(database, name)
    await end(database, name, {"exit_code": 0})
    (completed,) = await read(database, ExecutionFilter(run_id=77))
    assert (completed.execution_id, completed.status) == (name, ExecutionStatus.COMPLETED)
    assert completed.outcome == OUTCOME
    assert (completed.repository, completed.gate, completed.commit) == ("shop/bot", "ratiba", "c" * 40)


async def test_one_that_has_not_ended_after_its_deadline_is_lost(database: str) -> None:
    name = await begin(database)
    await run_sql(database, "ALTER TABLE ratiba_history.execution DISABLE TRIGGER append_only")
    await run_sql(database, "UPDATE ratiba_history.execution SET started_at = started_at - interval '1 hour'")
    (lost,) = await read(database, ExecutionFilter(id=name))
    assert lost.status is ExecutionStatus.LOST
    assert await asyncio.to_thread(wait_for, database, ExecutionFilter(id=name), 30.0) == lost


async def test_runs_are_listed_by_gate_and_repository_the_latest_first(database: str) -> None:
    names = [await begin(database, BegunExecution("shop/bot", gate, "", 0, 1, "advisory")) for gate in ("a", "b", "a")]
    assert [found.execution_id for found in await read(database, ExecutionFilter(gate="a", last=9))] == [
        names[2],
        names[0],
    ]
    assert await read(database, ExecutionFilter(gate="a", repository="other/bot", last=9)) == ()
    assert len(await read(database, ExecutionFilter(last=2))) == 2


async def test_a_run_is_waited_for_before_it_has_begun(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[float] = []

    def pause(seconds: float) -> None:
        """The run begins and ends after the first look."""
        looked.append(seconds)
        if len(looked) == 1:
            end_execution(database, begin_execution(database, BEGUN), OUTCOME)

    monkeypatch.setattr(f"{wait_for.__module__}.time", SimpleNamespace(monotonic=time.monotonic, sleep=pause))
    found = await asyncio.to_thread(wait_for, database, ExecutionFilter(run_id=77), 30.0, 0.05)
    assert found is not None
    assert found.outcome == OUTCOME
    assert looked == [0.05]
    assert await asyncio.to_thread(wait_for, database, ExecutionFilter(id=str(uuid.uuid4())), 0.1, 0.05) is None


async def test_what_is_written_is_text_and_never_changed(database: str) -> None:
    hostile = "'); DROP SCHEMA ratiba_history CASCADE; --\0\ud800"
    name = await begin(database, BegunExecution(hostile, hostile, hostile, 1, 1, "blocking"))
    await end(database, name, {"conclusion": hostile})
    (found,) = await read(database, ExecutionFilter(id=name))
    assert found.gate.startswith("'); DROP SCHEMA")
    for table in ("execution", "ending"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
            await run_sql(database, f"DELETE FROM ratiba_history.{table}")  # noqa: S608 - one of ours


async def test_older_tables_have_no_runs_until_the_next_one_brings_them_up_to_date(database: str) -> None:
    await MetricsHistory(database).prepare()
    await run_sql(
        database,
        "DROP TABLE ratiba_history.ending, ratiba_history.execution; "
        "ALTER TABLE ratiba_history.run DROP COLUMN anchor, DROP COLUMN decline; "
        "ALTER TABLE ratiba_history.result DROP COLUMN digest; "
        "ALTER TABLE ratiba_history.metric DROP COLUMN answered_by; "
        "UPDATE ratiba_history.alembic_version SET version_num = 'judges'",
    )
    assert await read(database, ExecutionFilter()) == ()
    await begin(database)
    assert await fetch(database, "SELECT version_num FROM ratiba_history.alembic_version") == [("answered_by",)]


def test_a_server_that_is_not_there_is_reported_without_its_password() -> None:
    url = "postgresql://user:PLANTED@127.0.0.1:9/db"
    for work in (lambda: begin_execution(url, BEGUN), lambda: read_executions(url, ExecutionFilter())):
        with pytest.raises(LedgerError) as caught:
            work()
        assert "PLANTED" not in str(caught.value)
