"""The metrics history on a real server: a run is written once and whole, and nothing written is changed."""

import asyncio
import re
import socket
import threading
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ratiba_action.errors import LedgerError
from ratiba_action.history.keeping import record_of
from ratiba_action.history.store import MetricsHistory, Series
from ratiba_action.model.change import Subject
from ratiba_action.model.history import RunRecord
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.money.monthly import MonthlyLedger
from tests.support.raw_server import raw_server
from tests.support.sample_report import sample_report, sample_score, sample_scored
from tests.support.sql import fetch, run_sql

START = datetime(2026, 11, 1, 8, tzinfo=UTC)
MAIN = Subject(repository="ratiba/assistant", head="c" * 40, run_id=1001, event="push", branch="main")
SERIES = Series("ratiba/assistant", "ratiba", "main")
GUIDE = (Path(__file__).parents[2] / "docs" / "history.md").read_text(encoding="utf-8")
(GRANTS,) = re.findall(r"```sql\n(.*?)```", GUIDE, re.DOTALL)
TABLES = ("run", "result", "metric")


def record(day: int = 0, value: float = 0.9, **changes: Any) -> RunRecord:
    """A passed run of main on a day, with one judged and one exact score."""
    report = sample_report(
        subject=MAIN,
        verdict=Verdict(Conclusion.PASSED, "All hold."),
        results=(sample_scored("spa", scores=(sample_score(value), sample_score(1.0, judged=False))),),
        started_at=START + timedelta(days=day),
    )
    return replace(record_of(report), **changes)


async def rows(database: str, table: str) -> list[tuple[Any, ...]]:
    return await fetch(database, f"SELECT * FROM ratiba_history.{table}")  # noqa: S608 - one of ours


async def test_a_run_is_kept_with_everything_that_identifies_it(database: str) -> None:
    assert await MetricsHistory(database).write(record_of(sample_report()))
    identity = (
        "SELECT repository, gate, commit, run_id, run_attempt, pull_request, suite_version, mode, conclusion, answers, "
        "judge_model, spent_usd, trials FROM ratiba_history.run"
    )
    assert await fetch(database, identity) == [
        (
            "ratiba/assistant",
            "ratiba",
            "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678",
            1001,
            1,
            7,
            "5f" * 32,
            "blocking",
            "failed",
            "mixed",
            "claude-opus-5-5",
            Decimal("1.25"),
            4,
        )
    ]
    assert await fetch(database, "SELECT scenario, trial, status FROM ratiba_history.result ORDER BY 1") == [
        ("barbershop_mpesa", 0, "errored"),
        ("salon_reschedule", 0, "failed"),
        ("spa_booking", 0, "passed"),
        ("spa_handoff", 0, "not run"),
    ]
    scores = await fetch(
        database,
        "SELECT metric, version, judge_model, score, threshold, status FROM ratiba_history.metric "
        "WHERE scenario = 'salon_reschedule' ORDER BY 1",
    )
    assert scores == [
        ("BookingSlotConsistencyMetric", "1.0.0", "", 0.5, 1.0, "failed"),
        ("SwahiliFluencyMetric", "1.0.0", "claude-opus-5-5", 0.62, 0.8, "failed"),
    ]


async def test_a_run_that_is_written_again_is_one_run_and_a_rerun_adds_another(database: str) -> None:
    history = MetricsHistory(database)
    assert [await history.write(record()) for _ in range(2)] == [True, False]
    assert await history.write(record(value=0.5, run_attempt=2))
    scores = await fetch(
        database,
        "SELECT run_attempt, score FROM ratiba_history.metric JOIN ratiba_history.run ON run.id = metric.run "
        "WHERE metric.judge_model <> '' ORDER BY 1",
    )
    assert scores == [(1, 0.9), (2, 0.5)]


async def test_shards_that_meet_an_empty_database_make_the_tables_once_and_lose_no_run(database: str) -> None:
    runs = [record(run_id=number) for number in (1, 1, 1, 2, 3, 4)]
    written = await asyncio.gather(*(MetricsHistory(database).write(one) for one in runs))
    assert sorted(written) == [False, False, True, True, True, True]
    assert await fetch(database, "SELECT run_id, count(*) FROM ratiba_history.run GROUP BY 1 ORDER BY 1") == [
        (number, 1) for number in (1, 2, 3, 4)
    ]
    assert await fetch(database, "SELECT count(*) FROM ratiba_history.metric") == [(8,)]


async def test_a_run_that_cannot_be_written_whole_is_not_written_at_all(database: str) -> None:
    bad = record()
    bad = replace(bad, scores=(*bad.scores, replace(bad.scores[0], score=1.5)))
    history = MetricsHistory(database)
    with pytest.raises(LedgerError, match="score_check"):
        await history.write(bad)
    with pytest.raises(LedgerError, match="no number"):
        await history.write(replace(bad, seconds=float("nan")))
    assert [await rows(database, table) for table in TABLES] == [[], [], []]


@pytest.mark.parametrize("revision", ["tables", "append_only"])
async def test_tables_that_earlier_versions_made_with_alembic_are_brought_up_to_date_and_keep_their_rows(
    database: str, revision: str
) -> None:
    await run_sql(database, (Path(__file__).parent / f"made_by_alembic_{revision}.sql").read_text("utf-8"))
    insert = (
        "INSERT INTO ratiba_history.run (repository, gate, commit, run_id, run_attempt, started_at, event, branch, "
        "suite_version, mode, conclusion, answers, judge_model, spent_usd, seconds, trials) "
        "VALUES ('o/r', 'g', 'c', 1, 1, now(), 'push', 'main', 's', 'blocking', 'passed', 'live', 'j', 1, 1, 1)"
    )
    await run_sql(database, insert)
    assert await MetricsHistory(database).write(record())
    assert await fetch(database, "SELECT version_num FROM ratiba_history.alembic_version") == [("answered_by",)]
    assert await fetch(database, "SELECT count(*) FROM ratiba_history.run") == [(2,)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        await run_sql(database, "DELETE FROM ratiba_history.run")


async def test_tables_that_nobody_has_brought_up_to_date_are_read_all_the_same(database: str) -> None:
    await run_sql(database, (Path(__file__).parent / "made_by_alembic_append_only.sql").read_text("utf-8"))
    run = (
        "INSERT INTO ratiba_history.run (repository, gate, commit, run_id, run_attempt, started_at, event, branch, "
        "suite_version, mode, conclusion, answers, judge_model, spent_usd, seconds, trials) "
        "VALUES ('ratiba/assistant', 'ratiba', 'c', 1, 1, now(), 'push', 'main', 's', 'blocking', 'passed', 'live', "
        "'j', 1, 1, 1) RETURNING id"
    )
    score = "SELECT id, 'spa', 0, 'LabelMetric', '1', '', 0.9, 0.5, 'passed' FROM run"
    await run_sql(database, f"WITH run AS ({run}) INSERT INTO ratiba_history.metric {score}")
    (point,) = await MetricsHistory(database).points(SERIES)
    assert (point.metric, point.threshold, point.required) == ("LabelMetric", 0.5, "")


async def test_a_schema_that_was_made_for_the_gate_gets_its_tables_and_an_upgrade_that_is_repeated_changes_nothing(
    database: str,
) -> None:
    await run_sql(database, "CREATE SCHEMA ratiba_history")
    await MetricsHistory(database).prepare()
    tables = "SELECT oid, relname FROM pg_class WHERE relnamespace = 'ratiba_history'::regnamespace ORDER BY 1"
    made = await fetch(database, tables)
    await MetricsHistory(database).prepare()
    assert await fetch(database, tables) == made
    assert {name for _, name in made} >= {*TABLES, "alembic_version"}


async def test_tables_of_a_newer_gate_are_left_alone(database: str) -> None:
    await MetricsHistory(database).write(record())
    await run_sql(database, "UPDATE ratiba_history.alembic_version SET version_num = 'later'")
    with pytest.raises(LedgerError, match=r"revision 'later'.*newer version of the gate"):
        await MetricsHistory(database).write(record(day=1))
    assert await fetch(database, "SELECT count(*) FROM ratiba_history.run") == [(1,)]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("statement", ["UPDATE {} SET trial = 7", "DELETE FROM {}", "TRUNCATE {} CASCADE"])
async def test_the_database_itself_refuses_to_change_or_remove_what_was_written(
    database: str, statement: str, table: str
) -> None:
    await MetricsHistory(database).write(record())
    name = f"ratiba_history.{table}"
    statement = statement.format(name).replace("trial", "trials" if table == "run" else "trial")
    before = await rows(database, table)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        await run_sql(database, statement)
    assert await rows(database, table) == before
    assert len(before) > 0


async def test_names_from_outside_are_data(database: str) -> None:
    hostile = "o'); DROP SCHEMA ratiba_history CASCADE; --\0\ud800 %s %(run)s"
    history = MetricsHistory(database)
    assert await history.write(record(repository=hostile, branch=hostile, judge_model=hostile, gate=hostile))
    ((stored, branch),) = await fetch(database, "SELECT repository, branch FROM ratiba_history.run")
    assert stored == branch == hostile.replace("\0", "\ufffd").replace("\ud800", "?")
    assert len(await history.points(Series(stored, stored, stored))) == 2
    assert await history.points(Series("x' OR true --", stored, stored)) == ()


async def test_a_role_that_may_not_make_tables_is_reported_what_to_run_and_then_has_the_rights_of_the_guide(
    database: str,
) -> None:
    role = f"gate_{uuid.uuid4().hex[:12]}"
    await run_sql(database, f"CREATE ROLE {role}")
    url = make_conninfo(database, options=f"-c role={role}")
    try:
        with pytest.raises(LedgerError, match=r"permission denied.*ratiba report --to-history") as caught:
            await MetricsHistory(url).write(record())
        assert caught.value.problem.startswith("The tables of the metrics history are missing or old")
        await MetricsHistory(database).prepare()
        with pytest.raises(LedgerError, match=r"lacks the right to INSERT.*GRANT SELECT, INSERT ON ALL TABLES"):
            await MetricsHistory(url).write(record())
        await MetricsHistory(database).write(record())
        await run_sql(database, GRANTS.replace("TO ratiba;", f"TO {role};"))
        assert await MetricsHistory(url).write(record(day=1))
    finally:
        await run_sql(database, f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_a_role_that_may_not_change_old_tables_is_reported_what_to_run_and_still_sees_trends(
    database: str,
) -> None:
    role = f"gate_{uuid.uuid4().hex[:12]}"
    await run_sql(database, (Path(__file__).parent / "made_by_alembic_append_only.sql").read_text("utf-8"))
    await run_sql(database, f"CREATE ROLE {role};" + GRANTS.replace("TO ratiba;", f"TO {role};"))
    writer = MetricsHistory(make_conninfo(database, options=f"-c role={role}"))
    try:
        with pytest.raises(LedgerError, match="ratiba report --to-history"):
            await writer.write(record())
        assert await writer.points(SERIES) == ()
        await MetricsHistory(database).prepare()
        assert await writer.write(record())
    finally:
        await run_sql(database, f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_a_role_that_may_only_read_sees_trends_and_writes_nothing(database: str) -> None:
    role = f"reader_{uuid.uuid4().hex[:12]}"
    await MetricsHistory(database).write(record())
    await run_sql(
        database,
        f"CREATE ROLE {role}; GRANT USAGE ON SCHEMA ratiba_history TO {role};"
        f"GRANT SELECT ON ALL TABLES IN SCHEMA ratiba_history TO {role}",
    )
    reader = MetricsHistory(make_conninfo(database, options=f"-c role={role}"))
    try:
        assert len(await reader.points(SERIES)) == 2
        with pytest.raises(LedgerError, match="lacks the right to INSERT"):
            await reader.write(record(day=1))
    finally:
        await run_sql(database, f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_the_monthly_ledger_lives_in_the_same_database(database: str) -> None:
    await MetricsHistory(database).write(record())
    ledger = MonthlyLedger(database, Decimal(300), run="run 1")
    await ledger.open()
    assert len(await ledger.accounts()) == 1
    await ledger.close()
    assert await MetricsHistory(database).write(record(day=1))


async def test_a_trend_has_the_last_whole_blocking_runs_of_a_branch_the_oldest_first(database: str) -> None:
    history = MetricsHistory(database)
    kept = [record(day, value) for day, value in ((3, 0.7), (1, 0.9), (2, 0.8))]
    others = [
        record(4, branch="other"),
        record(4, branch="", pull_request=7, run_id=2),
        record(4, conclusion="incomplete", run_id=3),
        record(4, mode="advisory", run_id=4),
        record(4, gate="second"),
        record(4, repository="ratiba/other"),
    ]
    for one in (*kept, *others):
        await history.write(one)
    judged = [one for one in await history.points(replace(SERIES, last=2)) if one.judge_model]
    assert [(one.started_at, one.mean) for one in judged] == [
        (START + timedelta(days=2), 0.8),
        (START + timedelta(days=3), 0.7),
    ]
    earlier = await history.points(replace(SERIES, before=START + timedelta(days=2)))
    assert {one.mean for one in earlier} == {0.9, 1.0}


async def test_an_empty_database_has_no_trend_and_is_left_empty(database: str) -> None:
    assert await MetricsHistory(database).points(SERIES) == ()
    assert await fetch(database, "SELECT to_regnamespace('ratiba_history')") == [(None,)]


async def test_a_server_that_takes_the_connection_and_says_nothing_is_given_up() -> None:
    def silent(_: socket.socket, done: threading.Event) -> None:
        done.wait()

    with raw_server(silent) as address:
        history = MetricsHistory(f"postgresql://u:hunter2hunter2@{address}/x", seconds=0.2)
        with pytest.raises(LedgerError, match=r"did not answer within 0\.2 s") as caught:
            await history.write(record())
    assert "hunter2" not in str(caught.value)


async def test_a_server_that_is_away_is_reported_without_the_password() -> None:
    url = "postgresql://u:hunter2hunter2@127.0.0.1:1/x"
    with pytest.raises(LedgerError, match="cannot be used") as caught:
        await MetricsHistory(url).points(SERIES)
    assert "hunter2" not in str(caught.value)
