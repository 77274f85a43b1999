"""The shared ledger on a real server: no number of runs and shards passes a cap together, and crashes cost."""

import asyncio
import re
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ratiba_action.errors import BudgetError, LedgerError, SharedCapError
from ratiba_action.model.conversation import Party, Reservation, Usage
from ratiba_action.money.budget import Ledger
from ratiba_action.money.monthly import MonthlyLedger, current_time
from ratiba_action.money.reservations import RunReservations
from tests.support.eventually import eventually_async
from tests.support.sql import fetch, open_reservations, run_sql

NOVEMBER = datetime(2026, 11, 22, 12, tzinfo=UTC)
SPENDER = Path(__file__).parent / "spender.py"


def reservation(number: int, upper: str = "1") -> Reservation:
    return Reservation(number, Party.SYSTEM, "spa", "gpt-6", Decimal(upper))


@asynccontextmanager
async def shared(
    url: str,
    monthly: str = "300",
    *,
    run: str = "run 1",
    pull_request: str | None = None,
    cap: str = "20",
    now: Callable[[], datetime] = lambda: NOVEMBER,
) -> AsyncIterator[MonthlyLedger]:
    ledger = MonthlyLedger(
        url, Decimal(monthly), run=run, pull_request=pull_request, pull_request_cap=Decimal(cap), now=now
    )
    try:
        await ledger.open()
        yield ledger
    finally:
        await ledger.close()


async def test_the_month_to_date_is_what_all_runs_spent_and_reserved(database: str) -> None:
    async with shared(database) as one, shared(database) as other:
        await one.reserve(reservation(1))
        await one.settle(reservation(1), Decimal("0.4"))
        await other.reserve(reservation(1))
        await other.keep(reservation(1))
        await other.reserve(reservation(2, "0.5"))
        await one.reserve(reservation(2))
        await one.release(reservation(2))
        for reader in (one, other):
            (month,) = await reader.accounts()
            assert (month.name, month.spent, month.reserved, month.cap, month.left) == (
                "the budget of the month 2026-11",
                Decimal("1.4"),
                Decimal("0.5"),
                Decimal(300),
                Decimal("298.1"),
            )


async def test_a_call_that_would_pass_the_month_is_refused_with_every_amount(database: str) -> None:
    async with shared(database, "2") as ledger:
        await ledger.reserve(reservation(1, "1.5"))
        with pytest.raises(SharedCapError) as caught:
            await ledger.reserve(reservation(2, "0.600000000001"))
        for part in ("'spa'", "'gpt-6'", "$0.6001", "month 2026-11", "$1.50", "$2.00"):
            assert part in caught.value.problem
        assert "RATIBA_EVAL_MONTHLY_BUDGET_USD" in caught.value.remedy
        assert caught.value.can_fit_later
        with pytest.raises(SharedCapError) as caught:
            await ledger.reserve(reservation(3, "2.1"))
        assert not caught.value.can_fit_later
        (month,) = await ledger.accounts()
        assert month.reserved == Decimal("1.5")


async def test_the_shards_and_runs_of_a_pull_request_share_its_cap(database: str) -> None:
    async with (
        shared(database, pull_request="o/r#7", cap="2") as shard_1,
        shared(database, pull_request="o/r#7", cap="2") as shard_2,
        shared(database, pull_request="o/r#8", cap="2") as another,
    ):
        await shard_1.reserve(reservation(1, "1.5"))
        with pytest.raises(SharedCapError, match=r"pull request o/r#7 has .*RATIBA_EVAL_BUDGET_USD"):
            await shard_2.reserve(reservation(1))
        await another.reserve(reservation(1, "2"))
        month, mine = await shard_2.accounts()
        assert (month.reserved, mine.reserved, mine.scope) == (Decimal("3.5"), Decimal("1.5"), "pull_request:o/r#7")


async def test_what_one_cap_refuses_is_reserved_in_neither(database: str) -> None:
    async with (
        shared(database, "1", pull_request="o/r#7", cap="20") as month_is_short,
        shared(database, "300", pull_request="o/r#7", cap="1") as pull_request_is_short,
    ):
        for ledger in (month_is_short, pull_request_is_short):
            with pytest.raises(SharedCapError):
                await ledger.reserve(reservation(1, "2"))
            assert [account.reserved for account in await ledger.accounts()] == [0, 0]
            assert await open_reservations(database) == []


async def test_months_are_utc_and_a_call_is_booked_where_it_was_reserved(database: str) -> None:
    nairobi = timezone(timedelta(hours=3))
    clock = [datetime(2026, 12, 1, 2, 59, tzinfo=nairobi)]
    async with shared(database, "1", now=lambda: clock[0]) as ledger:
        await ledger.reserve(reservation(1))
        clock[0] += timedelta(minutes=2)
        await ledger.reserve(reservation(2))
        await ledger.settle(reservation(1), Decimal("0.3"))
        (december,) = await ledger.accounts()
        assert (december.scope, december.spent, december.reserved) == ("month:2026-12", Decimal(0), Decimal(1))
    rows = await fetch(database, "SELECT scope, spent, reserved FROM ratiba_ledger.account ORDER BY scope")
    assert rows[0] == ("month:2026-11", Decimal("0.3"), Decimal(0))


async def test_a_cost_above_its_reservation_is_counted_in_full(database: str) -> None:
    async with shared(database, "2") as ledger:
        await ledger.reserve(reservation(1))
        await ledger.settle(reservation(1), Decimal(3))
        (month,) = await ledger.accounts()
        assert (month.spent, month.left) == (Decimal(3), Decimal(-1))
        with pytest.raises(SharedCapError):
            await ledger.reserve(reservation(2, "0"))


async def test_amounts_stay_exact(database: str) -> None:
    grain = Decimal("0.000000000001")
    async with shared(database, "1000000") as ledger:
        for number in range(1, 11):
            await ledger.reserve(reservation(number, "123456.789012345678" if number == 1 else str(grain)))
            if number == 1:
                await ledger.settle(reservation(1), Decimal("99.999999999999"))
            else:
                await ledger.keep(reservation(number))
        (month,) = await ledger.accounts()
        assert month.spent == Decimal("99.999999999999") + 9 * grain
    assert month.reserved == 0


async def test_what_a_crashed_run_left_open_stays_counted_and_can_be_seen(database: str) -> None:
    async with shared(database, run="crashed") as crashed:
        await crashed.reserve(reservation(1, "0.75"))
    async with shared(database, "1") as ledger:
        with pytest.raises(SharedCapError):
            await ledger.reserve(reservation(1, "0.5"))
        ((*left, opened_at),) = await open_reservations(database)
        assert left == ["crashed", ["month:2026-11"], "system", "gpt-6", Decimal("0.75")]
        assert opened_at.tzinfo is not None


async def test_many_runs_may_meet_an_empty_database_at_once(database: str) -> None:
    ledgers = [MonthlyLedger(database, Decimal(300), run=f"run {number}") for number in range(12)]
    await asyncio.gather(*(ledger.open() for ledger in ledgers))
    await asyncio.gather(*(ledger.reserve(reservation(1)) for ledger in ledgers))
    (month,) = await ledgers[0].accounts()
    assert month.reserved == Decimal(12)
    await asyncio.gather(*(ledger.close() for ledger in ledgers))


async def test_concurrent_connections_take_the_last_cent_once(database: str) -> None:
    ledgers = [
        MonthlyLedger(database, Decimal(1), run=f"run {number}", pull_request="o/r#7", pull_request_cap=Decimal(5))
        for number in range(10)
    ]
    await asyncio.gather(*(ledger.open() for ledger in ledgers))

    async def take(ledger: MonthlyLedger) -> int:
        taken = 0
        for number in range(1, 31):
            try:
                await ledger.reserve(reservation(number, "0.01"))
            except SharedCapError:
                return taken
            taken += 1
            assert all(account.left >= 0 for account in await ledger.accounts())
        return taken

    assert sum(await asyncio.gather(*(take(ledger) for ledger in ledgers))) == 100
    await asyncio.gather(*(ledger.close() for ledger in ledgers))


@pytest.mark.parametrize("cap", ["month", "pull request"])
async def test_of_runs_that_ask_at_the_same_instant_only_those_that_fit_are_let_through(
    database: str, cap: str
) -> None:
    """All of them stand at the account's door, each with a view of it from before, when it is opened."""
    monthly, pull_request = ("1", "20") if cap == "month" else ("300", "1")
    async with AsyncExitStack() as stack:
        ledgers = [
            await stack.enter_async_context(shared(database, monthly, pull_request="o/r#7", cap=pull_request))
            for _ in range(6)
        ]
        async with await psycopg.AsyncConnection.connect(database) as holder:
            await holder.execute("SELECT FROM ratiba_ledger.account FOR UPDATE")
            asked = [asyncio.ensure_future(ledger.reserve(reservation(1, "0.4"))) for ledger in ledgers]
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')"
            await eventually_async(lambda: fetch(database, waiting), until=lambda rows: rows == [(6,)])
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(one is None for one in answers) == 2
        assert sum(isinstance(one, SharedCapError) for one in answers) == 4
        assert {account.reserved for account in await ledgers[0].accounts()} == {Decimal("0.8")}
        assert len(await open_reservations(database)) == 2


@pytest.mark.processes
async def test_processes_that_share_a_month_and_a_pull_request_never_pass_either_cap(database: str) -> None:
    """Two shards of one pull request and a run of another, each with many calls at once, watched all the while."""

    async def spend(pull_request: str, seed: int) -> Decimal:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(SPENDER), database, "2", pull_request, "0.8", "120", str(seed), stdout=-1, stderr=-1
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return Decimal(out.decode().strip())

    async with shared(database, "2", pull_request="o/r#7", cap="0.8", now=current_time) as watcher:
        runs = [asyncio.ensure_future(spend(name, seed)) for seed, name in enumerate(["o/r#7", "o/r#7", "o/r#8"])]
        while not all(run.done() for run in runs):
            assert all(account.left >= 0 for account in await watcher.accounts())
        first, second, third = [await run for run in runs]
        month, pull_request = await watcher.accounts()
    assert (month.spent, month.reserved) == (first + second + third, Decimal(0))
    assert (pull_request.spent, pull_request.reserved) == (first + second, Decimal(0))
    assert pull_request.spent > Decimal("0.7")
    assert third > Decimal("0.7")


@pytest.mark.parametrize("outcome", ["settle", "release"])
async def test_a_connection_that_was_lost_is_made_again_and_nothing_is_counted_twice(
    database: str, outcome: str
) -> None:
    async with shared(database) as ledger:
        await ledger.reserve(reservation(1))
        await _end_sessions(database)
        await ledger.reserve(reservation(2))
        await _end_sessions(database)
        if outcome == "settle":
            await ledger.settle(reservation(1), Decimal("0.4"))
        else:
            await ledger.release(reservation(1))
        await _end_sessions(database)
        (month,) = await ledger.accounts()
        assert (month.spent, month.reserved) == (Decimal("0.4") if outcome == "settle" else Decimal(0), Decimal(1))


async def test_while_the_server_is_away_calls_are_refused_and_what_is_open_stays_counted(database: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    elsewhere = make_conninfo(database, dbname="postgres")
    warnings: list[str] = []
    async with shared(database) as ledger:
        books = Ledger(Decimal(20))
        reservations = RunReservations(books, shared=ledger, warn=warnings.append)
        made = await reservations.reserve(Party.SYSTEM, "spa", "gpt-6", Decimal("0.5"))
        await run_sql(elsewhere, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        await _end_sessions(database, via=elsewhere)
        with pytest.raises(LedgerError, match="shared ledger cannot be used"):
            await reservations.reserve(Party.SYSTEM, "spa", "gpt-6", Decimal("0.25"))
        assert books.reserved == Decimal("0.5")
        await reservations.settle(made, Usage(1, 1), Decimal("0.1"))
        assert (books.spent, books.reserved) == (Decimal("0.1"), Decimal(0))
        assert "stays reserved there in full" in warnings[0]
        await run_sql(elsewhere, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        (month,) = await ledger.accounts()
        assert (month.spent, month.reserved) == (Decimal(0), Decimal("0.5"))


async def test_a_server_that_cannot_be_reached_is_reported_without_the_password(database: str) -> None:
    url = make_conninfo(database, host="127.0.0.1", port="1", password="hunter2hunter2")
    with pytest.raises(LedgerError, match="RATIBA_LEDGER_URL") as caught:
        async with shared(url):
            pass
    assert "hunter2hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["postgresql://u:hunter2hunter2@host:notaport/db", "host=h hunter2hunter2"])
async def test_an_address_that_is_none_is_reported_without_the_password(url: str) -> None:
    with pytest.raises(LedgerError, match=r"shared ledger's URL|shared ledger cannot be used") as caught:
        async with shared(url):
            pass
    assert "hunter2hunter2" not in str(caught.value)


async def test_a_schema_of_that_name_that_is_no_ledger_is_refused(database: str) -> None:
    await run_sql(database, "CREATE SCHEMA ratiba_ledger")
    with pytest.raises(LedgerError, match="says None, not 'ratiba shared ledger, layout 1'"):
        async with shared(database):
            pass


async def test_an_account_that_somebody_deleted_stops_the_spending(database: str) -> None:
    async with shared(database) as ledger:
        await run_sql(database, "DELETE FROM ratiba_ledger.account")
        with pytest.raises(LedgerError, match="has lost its account"):
            await ledger.reserve(reservation(1))


async def test_another_role_of_the_server_can_neither_read_nor_change_it(database: str) -> None:
    role = f"tenant_{uuid.uuid4().hex[:12]}"
    async with shared(database) as ledger:
        await ledger.reserve(reservation(1))
        await run_sql(database, f"CREATE ROLE {role}")
        try:
            for statement in (
                "SELECT * FROM ratiba_ledger.account",
                "UPDATE ratiba_ledger.account SET reserved = 0",
                "DELETE FROM ratiba_ledger.reservation",
                "DROP SCHEMA ratiba_ledger CASCADE",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await run_sql(database, f"SET ROLE {role}; {statement}")
        finally:
            await run_sql(database, f"DROP ROLE {role}")
        (month,) = await ledger.accounts()
        assert month.reserved == Decimal(1)


async def test_names_from_outside_are_data(database: str) -> None:
    hostile = "o/r'; DROP SCHEMA ratiba_ledger CASCADE; --#7"
    async with shared(database, pull_request=hostile, run=hostile) as ledger:
        await ledger.reserve(reservation(1))
        assert [account.reserved for account in await ledger.accounts()] == [1, 1]


@pytest.mark.parametrize("cap", ["-1", "NaN", "Infinity"])
def test_a_cap_that_is_no_amount_is_refused(cap: str) -> None:
    with pytest.raises(BudgetError, match="cap"):
        MonthlyLedger("postgresql://localhost/x", Decimal(cap), run="run 1")


async def _end_sessions(database: str, via: str | None = None) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    others = f"datname = '{name}' AND pid <> pg_backend_pid()"
    await run_sql(via or database, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}")  # noqa: S608 - the test's own name


def _guide() -> tuple[str, str, str, str]:
    """The statements that the guide gives: rights, what is open, giving one back, forgetting a passed bound."""
    text = (Path(__file__).parents[2] / "docs" / "money.md").read_text(encoding="utf-8")
    forget, grants, pending, back = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    return grants, pending, back, forget


async def test_a_reservation_of_a_dead_run_is_seen_and_given_back_as_the_guide_says(database: str) -> None:
    _, pending, back, _ = _guide()
    async with shared(database, pull_request="o/r#7") as ledger:
        await ledger.reserve(reservation(1))
        await ledger.reserve(reservation(2, "0.5"))
        ((number, *_), _) = await fetch(database, pending)
        for _ in range(2):
            await run_sql(database, back.replace(str(uuid.UUID(int=0)), str(number)))
        assert [account.reserved for account in await ledger.accounts()] == [Decimal("0.5"), Decimal("0.5")]
        assert [row[4] for row in await open_reservations(database)] == [Decimal("0.5")]


async def test_the_rights_that_the_guide_grants_are_enough_after_the_first_use(database: str) -> None:
    grants, _, _, _ = _guide()
    role = f"ledger_{uuid.uuid4().hex[:12]}"
    async with shared(database):
        pass
    await run_sql(database, f"CREATE ROLE {role}")
    try:
        await run_sql(database, grants.replace("TO ratiba;", f"TO {role};"))
        async with shared(make_conninfo(database, options=f"-c role={role}"), pull_request="o/r#7") as ledger:
            await ledger.reserve(reservation(1))
            await ledger.settle(reservation(1), Decimal("0.5"))
            assert [account.spent for account in await ledger.accounts()] == [Decimal("0.5"), Decimal("0.5")]
    finally:
        await run_sql(database, f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_every_run_of_the_ledger_reserves_what_an_answer_has_cost_above_its_bound(database: str) -> None:
    notes: list[str] = []
    async with shared(database, run="run 1") as one, shared(database, run="run 2") as other:
        first = RunReservations(Ledger(Decimal(20)), None, one, warn=notes.append)
        second = RunReservations(Ledger(Decimal(20)), None, other, warn=notes.append)
        before = await second.reserve(Party.JUDGE, "spa", "gpt-6", Decimal("0.01"))
        await first.settle(
            await first.reserve(Party.SYSTEM, "spa", "gpt-6", Decimal("0.01")), Usage(1, 1), Decimal("1.5")
        )
        later = [await second.reserve(Party.JUDGE, "spa", "gpt-6", Decimal("0.01")) for _ in range(2)]
    assert before.upper == Decimal("0.01")
    assert [reservation.upper for reservation in later] == [Decimal("1.5")] * 2
    (note,) = notes
    assert "'gpt-6' has cost $1.50 in another run" in note
    await run_sql(database, _guide()[3].replace("gpt-5-mini", "gpt-6"))
    async with shared(database, run="run 3") as third:
        assert await third.dearest_overrun("gpt-6") == 0


async def test_a_ledger_of_an_earlier_version_gets_its_index_from_whoever_may_make_it(database: str) -> None:
    lacks = "SELECT to_regclass('ratiba_ledger.reservation_above') IS NULL"
    async with shared(database):
        assert await fetch(database, lacks) == [(False,)]
    await run_sql(database, "DROP INDEX ratiba_ledger.reservation_above")
    async with shared(database):
        assert await fetch(database, lacks) == [(False,)]
