"""What every implementation of ``Reservations`` does: in memory, with a journal, or with a shared ledger."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path
from typing import Protocol

import pytest

from ratiba_action.errors import BudgetError
from ratiba_action.model.conversation import JournaledAnswer, Party, Reservation, Usage
from ratiba_action.money.budget import Ledger
from ratiba_action.money.journal import Journal, begin_journal
from ratiba_action.money.monthly import MonthlyLedger
from ratiba_action.money.reservations import RunReservations
from ratiba_action.ports import Reservations
from tests.support.reservations import MemoryReservations

PLENTY = Decimal(1000)
KINDS = ["memory", "cap only", "journal", "shared cap", "journal and shared cap"]


class Opened(Protocol):
    """Makes reservations with a cap."""

    async def __call__(self, cap: str) -> Reservations: ...


@pytest.fixture(params=KINDS)
async def purse_with(request: pytest.FixtureRequest, tmp_path: Path, embedded_server_dsn: str) -> AsyncIterator[Opened]:
    kind: str = request.param
    warnings: list[str] = []
    async with AsyncExitStack() as stack:

        async def open_purse(cap: str) -> Reservations:
            if kind == "memory":
                return MemoryReservations(Decimal(cap))
            journal: Journal | None = None
            if "journal" in kind:
                journal = begin_journal(tmp_path / "state" / "run.jsonl", "one run", tmp_path / "workspace")
                stack.callback(journal.close)
            if "shared" not in kind:
                return RunReservations(Ledger(Decimal(cap)), journal, warn=warnings.append)
            shared = MonthlyLedger(
                embedded_server_dsn,
                PLENTY,
                run="run 1",
                pull_request=f"o/r#{uuid.uuid4()}",
                pull_request_cap=Decimal(cap),
            )
            stack.push_async_callback(shared.close)
            await shared.open()
            return RunReservations(Ledger(PLENTY), journal, shared, warn=warnings.append)

        yield open_purse
    assert warnings == []


async def reserve(reservations: Reservations, upper: str, scenario_id: str = "spa") -> Reservation:
    return await reservations.reserve(Party.SYSTEM, scenario_id, "gpt-6", Decimal(upper))


async def waiting(reservations: Reservations, upper: str, scenario_id: str = "spa") -> asyncio.Task[Reservation]:
    """A call that asks for money and is made to wait: a later one that fits is let through before it, or also waits."""
    task = asyncio.ensure_future(reserve(reservations, upper, scenario_id))
    for _ in range(5):
        await asyncio.sleep(0)
    return task


async def test_a_reservation_says_what_it_is_for(purse_with: Opened) -> None:
    reservation = await reserve(await purse_with("1"), "0.25")
    assert (reservation.party, reservation.scenario_id, reservation.model, reservation.upper) == (
        Party.SYSTEM,
        "spa",
        "gpt-6",
        Decimal("0.25"),
    )


async def test_a_call_that_can_never_fit_is_refused_at_once(purse_with: Opened) -> None:
    reservations = await purse_with("1")
    await reserve(reservations, "0.5")
    with pytest.raises(BudgetError):
        await reserve(reservations, "1.000000000001")


async def test_a_call_that_just_fits_is_let_through(purse_with: Opened) -> None:
    reservations = await purse_with("0.3")
    held = [await reserve(reservations, "0.1") for _ in range(3)]
    assert sum(one.upper for one in held) == Decimal("0.3")


async def test_a_call_waits_for_those_in_flight_and_is_let_through_when_they_were_cheaper(purse_with: Opened) -> None:
    reservations = await purse_with("1")
    first = await reserve(reservations, "0.8")
    second = await waiting(reservations, "0.8")
    assert not second.done()
    await reservations.settle(first, Usage(1, 1), Decimal("0.2"))
    assert (await second).upper == Decimal("0.8")


async def test_a_call_waits_for_those_in_flight_and_is_refused_when_they_cost_too_much(purse_with: Opened) -> None:
    reservations = await purse_with("1")
    first = await reserve(reservations, "0.8")
    second = await waiting(reservations, "0.8")
    await reservations.keep(first)
    with pytest.raises(BudgetError):
        await second


async def test_money_that_was_given_back_can_be_spent(purse_with: Opened) -> None:
    reservations = await purse_with("1")
    await reservations.release(await reserve(reservations, "1"))
    assert (await reserve(reservations, "1")).upper == Decimal(1)


async def test_what_was_kept_is_spent(purse_with: Opened) -> None:
    reservations = await purse_with("1")
    await reservations.keep(await reserve(reservations, "0.6"))
    with pytest.raises(BudgetError):
        await reserve(reservations, "0.5")


async def test_what_was_settled_is_spent_and_the_rest_is_free(purse_with: Opened) -> None:
    reservations = await purse_with("1")
    await reservations.settle(
        await reserve(reservations, "1"), Usage(1, 1), Decimal("0.4"), JournaledAnswer("k", {"text": "Habari"})
    )
    await reservations.keep(await reserve(reservations, "0.6"))
    with pytest.raises(BudgetError):
        await reserve(reservations, "0.000000000001")


@pytest.mark.parametrize("again", ["settle", "keep", "release"])
async def test_a_reservation_is_closed_once(purse_with: Opened, again: str) -> None:
    reservations = await purse_with("1")
    reservation = await reserve(reservations, "1")
    await reservations.release(reservation)
    with pytest.raises(ValueError, match="closed before"):
        await {
            "settle": lambda: reservations.settle(reservation, Usage(), Decimal("0.5")),
            "keep": lambda: reservations.keep(reservation),
            "release": lambda: reservations.release(reservation),
        }[again]()
    await reserve(reservations, "1")


@pytest.mark.parametrize("amount", ["-1", "NaN", "Infinity", "1E-13"])
async def test_an_amount_that_is_not_exact_is_refused(purse_with: Opened, amount: str) -> None:
    reservations = await purse_with("1")
    reservation = await reserve(reservations, "0.5")
    with pytest.raises(BudgetError):
        await reserve(reservations, amount)
    with pytest.raises(BudgetError):
        await reservations.settle(reservation, Usage(), Decimal(amount))
    await reservations.settle(reservation, Usage(), Decimal("0.1"))


async def test_a_call_that_gives_up_waiting_leaves_nothing_reserved(purse_with: Opened) -> None:
    reservations = await purse_with("1")
    first = await reserve(reservations, "0.8")
    second = await waiting(reservations, "0.8")
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    await reservations.release(first)
    await reserve(reservations, "1")


@pytest.mark.parametrize("steps", range(6))
async def test_a_reservation_that_is_cancelled_at_any_moment_returns_its_money(purse_with: Opened, steps: int) -> None:
    reservations = await purse_with("1")
    task = asyncio.ensure_future(reserve(reservations, "1"))
    for _ in range(steps):
        await asyncio.sleep(0)
    given = task.done()
    task.cancel()
    if given:
        await reservations.release(await task)
    else:
        with pytest.raises(asyncio.CancelledError):
            await task
    await reservations.release(await reserve(reservations, "1"))


@pytest.mark.parametrize("steps", range(1, 6))
async def test_a_settlement_that_is_cancelled_still_settles(purse_with: Opened, steps: int) -> None:
    reservations = await purse_with("1")
    reservation = await reserve(reservations, "1")
    task = asyncio.ensure_future(reservations.settle(reservation, Usage(1, 1), Decimal("0.4")))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await reservations.release(await reserve(reservations, "0.6"))
    with pytest.raises(BudgetError):
        await reserve(reservations, "0.600000000001")


async def test_a_bound_that_an_answer_has_passed_is_not_trusted_again(purse_with: Opened) -> None:
    reservations, model = await purse_with("10"), f"gpt-{uuid.uuid4()}"  # all tests share the ledger's rows

    async def reserve(upper: str, *, exact: bool = False) -> Reservation:
        return await reservations.reserve(Party.SYSTEM, "spa", model, Decimal(upper), exact=exact)

    for cost in ("1.5", "1.2"):
        await reservations.settle(await reserve("0.01"), Usage(1, 1), Decimal(cost))
    assert (await reserve("0.01")).upper == Decimal("1.5")
    assert (await reserve("2")).upper == 2
    known = await reserve("0.25", exact=True)
    assert known.upper == Decimal("0.25"), "what is spent already is no bound"
    other = await reservations.reserve(Party.SYSTEM, "spa", f"{model}-other", Decimal("0.01"))
    assert other.upper == Decimal("0.01")


async def test_what_is_spent_already_says_nothing_of_the_bound_of_a_call(purse_with: Opened) -> None:
    reservations, model = await purse_with("10"), f"gpt-{uuid.uuid4()}"
    spent = await reservations.reserve(Party.SYSTEM, "spa", model, Decimal(0), exact=True)
    await reservations.settle(spent, Usage(1, 1), Decimal(3))
    assert (await reservations.reserve(Party.SYSTEM, "spa", model, Decimal("0.01"))).upper == Decimal("0.01")
