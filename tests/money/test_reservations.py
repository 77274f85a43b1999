"""Reservations of a run: nothing half done, nobody starved, and a resumed run knows what was spent."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import BudgetError, LedgerError
from ratiba_action.model.conversation import JournaledAnswer, Party, Reservation, Usage
from ratiba_action.money.budget import Ledger
from ratiba_action.money.journal import Journal, begin_journal, resume_journal
from ratiba_action.money.monthly import MonthlyLedger
from ratiba_action.money.reservations import RunReservations
from tests.support.sql import open_reservations


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = begin_journal(tmp_path / "state" / "run.jsonl", "run", tmp_path / "workspace")
    yield opened
    opened.close()


async def reserve(reservations: RunReservations, upper: str) -> Reservation:
    return await reservations.reserve(Party.SYSTEM, "spa", "gpt-6", Decimal(upper))


async def asking(reservations: RunReservations, upper: str) -> asyncio.Task[Reservation]:
    task = asyncio.ensure_future(reserve(reservations, upper))
    for _ in range(5):
        await asyncio.sleep(0)
    return task


def refuse_warnings(text: str) -> None:
    raise AssertionError(text)


@contextmanager
def full_disk(journal: Journal) -> Iterator[None]:
    """The journal cannot grow."""
    resource = pytest.importorskip("resource")
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.path.stat().st_size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


async def test_the_journal_holds_a_call_before_its_caller_may_make_it(journal: Journal) -> None:
    reservations = RunReservations(Ledger(Decimal(1)), journal, warn=refuse_warnings)
    await reserve(reservations, "0.5")
    assert journal.path.read_text("ascii").splitlines()[-1] == (
        '{"event":"reserve","number":1,"party":"system","scenario":"spa","model":"gpt-6","upper":"0.5"}'
    )


async def test_where_there_is_room_a_call_is_let_through_without_giving_way_to_others(journal: Journal) -> None:
    reservations = RunReservations(Ledger(Decimal(1)), journal, warn=refuse_warnings)
    asked = asyncio.ensure_future(reserve(reservations, "0.5"))
    await asyncio.sleep(0)
    assert asked.done()
    assert asked.result().upper == Decimal("0.5")


async def test_a_large_call_is_not_overtaken_by_small_ones_for_ever() -> None:
    reservations = RunReservations(Ledger(Decimal(1)), warn=refuse_warnings)
    running = await reserve(reservations, "0.5")
    large = await asking(reservations, "0.9")
    small = [await asking(reservations, "0.1") for _ in range(3)]
    assert not any(task.done() for task in small)
    await reservations.release(running)
    await reservations.release(await large)
    await asyncio.gather(*small)


async def test_when_the_first_in_line_is_refused_the_next_is_served() -> None:
    reservations = RunReservations(Ledger(Decimal(1)), warn=refuse_warnings)
    running = await reserve(reservations, "0.5")
    large, small = await asking(reservations, "0.9"), await asking(reservations, "0.1")
    await reservations.keep(running)
    with pytest.raises(BudgetError):
        await large
    assert (await small).upper == Decimal("0.1")


async def test_without_room_in_the_journal_the_call_is_refused_and_its_money_is_back(
    journal: Journal, database: str
) -> None:
    shared = MonthlyLedger(database, Decimal(10), run="run 1")
    await shared.open()
    ledger = Ledger(Decimal(1))
    reservations = RunReservations(ledger, journal, shared, warn=refuse_warnings)
    with full_disk(journal), pytest.raises(LedgerError, match="cannot be written"):
        await reserve(reservations, "0.5")
    (month,) = await shared.accounts()
    assert (ledger.reserved, month.spent, month.reserved) == (Decimal(0), Decimal(0), Decimal(0))
    await reserve(reservations, "1")
    await shared.close()


async def test_a_settlement_that_the_journal_cannot_hold_is_booked_and_reported(journal: Journal) -> None:
    warnings: list[str] = []
    ledger = Ledger(Decimal(1))
    reservations = RunReservations(ledger, journal, warn=warnings.append)
    reservation = await reserve(reservations, "0.5")
    with full_disk(journal):
        await reservations.settle(reservation, Usage(1, 1), Decimal("0.2"), JournaledAnswer("k", {"text": "x"}))
    assert (ledger.spent, ledger.reserved) == (Decimal("0.2"), Decimal(0))
    assert "cannot be written" in warnings[0]
    journal.close()
    again = resume_journal(journal.path, "run", Path("/nowhere"))
    assert again.state.total == Decimal("0.5")
    again.close()


async def test_what_the_month_refuses_is_in_no_book(journal: Journal, database: str) -> None:
    shared = MonthlyLedger(database, Decimal("0.4"), run="run 1")
    await shared.open()
    ledger = Ledger(Decimal(1))
    reservations = RunReservations(ledger, journal, shared, warn=refuse_warnings)
    before = journal.path.read_bytes()
    with pytest.raises(BudgetError, match="month"):
        await reserve(reservations, "0.5")
    assert (ledger.spent, ledger.reserved, journal.path.read_bytes()) == (Decimal(0), Decimal(0), before)
    assert await open_reservations(database) == []
    await shared.close()


async def test_another_runs_calls_are_not_waited_for(database: str) -> None:
    others, mine = (MonthlyLedger(database, Decimal(1), run=name) for name in ("others", "mine"))
    await others.open()
    await others.reserve(Reservation(1, Party.SYSTEM, "spa", "gpt-6", Decimal("0.8")))
    await mine.open()
    with pytest.raises(BudgetError, match=r"\$0.80 reserved"):
        await reserve(RunReservations(Ledger(Decimal(1)), shared=mine, warn=refuse_warnings), "0.5")
    await others.close()
    await mine.close()


async def test_a_resumed_run_starts_with_what_was_spent_and_with_what_may_have_been(tmp_path: Path) -> None:
    path, workspace = tmp_path / "state" / "run.jsonl", tmp_path / "workspace"
    first = begin_journal(path, "run", workspace)
    reservations = RunReservations(Ledger(Decimal(1)), first, warn=refuse_warnings)
    await reservations.settle(
        await reserve(reservations, "0.3"), Usage(1, 2), Decimal("0.1"), JournaledAnswer("k", {"text": "Habari"})
    )
    await reserve(reservations, "0.4")
    first.close()

    second = resume_journal(path, "run", workspace)
    ledger = Ledger(Decimal(1))
    ledger.carry_on(second.state.calls, second.state.last_number)
    assert (ledger.spent, ledger.reserved) == (Decimal("0.5"), Decimal(0))
    assert second.state.answers["k"].body == {"text": "Habari"}
    reservations = RunReservations(ledger, second, warn=refuse_warnings)
    with pytest.raises(BudgetError):
        await reserve(reservations, "0.6")
    assert (await reserve(reservations, "0.5")).number == 3
    second.close()


async def test_a_resumed_run_does_not_trust_a_bound_that_was_passed_before(tmp_path: Path) -> None:
    path, workspace = tmp_path / "state" / "run.jsonl", tmp_path / "workspace"
    first = begin_journal(path, "run", workspace)
    reservations = RunReservations(Ledger(Decimal(5)), first, warn=refuse_warnings)
    await reservations.settle(await reserve(reservations, "0.3"), Usage(1, 2), Decimal("1.5"))
    first.close()
    second = resume_journal(path, "run", workspace)
    ledger = Ledger(Decimal(5))
    ledger.carry_on(second.state.calls, second.state.last_number, overruns=second.state.overruns)
    (breach,) = ledger.breaches
    assert "cost $1.50, reserved were $0.30. From now on each call to it is reserved at what it has cost." in breach
    assert (await reserve(RunReservations(ledger, second, warn=refuse_warnings), "0.3")).upper == Decimal("1.5")
    second.close()


@given(calls=st.lists(st.tuples(st.decimals("0.01", "1", places=2), st.decimals("0", "3", places=2)), max_size=12))
def test_no_bound_is_passed_by_as_much_twice(calls: list[tuple[Decimal, Decimal]]) -> None:
    """Whatever bounds are asked for and whatever calls cost: what passes a bound is dearer than all before it."""

    async def spend() -> list[Decimal]:
        reservations, passed = RunReservations(Ledger(Decimal(1000)), warn=refuse_warnings), []
        for upper, cost in calls:
            reservation = await reserve(reservations, str(upper))
            passed += [cost] if cost > reservation.upper else []
            await reservations.settle(reservation, Usage(1, 1), cost)
        return passed

    passed = asyncio.run(spend())
    assert passed == sorted(set(passed))


@pytest.mark.parametrize("steps", range(12))
async def test_cancelled_at_any_moment_the_books_agree_with_each_other(
    journal: Journal, database: str, steps: int
) -> None:
    """A call is cancelled after so many steps of the loop, or a few more while the server answers."""
    shared = MonthlyLedger(database, Decimal(10), run="run 1")
    await shared.open()
    ledger = Ledger(Decimal(1))
    reservations = RunReservations(ledger, journal, shared, warn=refuse_warnings)

    async def call() -> None:
        reservation = await reserve(reservations, "0.5")
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            await reservations.keep(reservation)
            raise
        await reservations.settle(reservation, Usage(1, 1), Decimal("0.2"))

    task = asyncio.ensure_future(call())
    for _ in range(steps):
        await asyncio.sleep(0.0005)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    (month,) = await shared.accounts()
    assert (month.spent, month.reserved) == (ledger.spent, ledger.reserved)
    assert ledger.reserved == 0
    journal.close()
    again = resume_journal(journal.path, "run", Path("/nowhere"))
    assert again.state.total == ledger.spent
    again.close()
    await shared.close()
