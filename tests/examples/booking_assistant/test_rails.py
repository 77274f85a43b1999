from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime

import pytest
from booking_assistant.clock import FixedClock
from booking_assistant.database import Connection, connect, fetch_required
from booking_assistant.onboarding import Tenant, register_tenant
from booking_assistant.rails.mpesa import MpesaRail
from booking_assistant.rails.rail import Callback, PaymentRequest, Result
from booking_assistant.settlement import Outcome, cancel, settle
from booking_assistant.tools import create_booking, request_payment, reverse_payment
from booking_assistant.tools.desk import Customer, Desk

from tests.examples.booking_assistant.conftest import OWN_PHONE, TENANT_ID

PAID = Callback("mpesa", Result.SUCCESS, "TKL4X8Q2ZP", 3500)


class RailDownError(Exception):
    pass


@dataclass
class UnreliableRail:
    """A rail that can be switched off."""

    is_up: bool = True
    rail: MpesaRail = field(default_factory=MpesaRail)

    async def request(self, request: PaymentRequest) -> str:
        self._check()
        return await self.rail.request(request)

    async def reverse(self, receipt: str, amount_kes: int) -> None:
        self._check()
        await self.rail.reverse(receipt, amount_kes)

    def _check(self) -> None:
        if not self.is_up:
            raise RailDownError


@pytest.fixture
def rail() -> UnreliableRail:
    return UnreliableRail()


@pytest.fixture
async def desk(database_url: str, rail: UnreliableRail) -> AsyncIterator[Desk]:
    """A desk with one booked massage."""
    connection = await connect(database_url)
    await register_tenant(connection, Tenant(TENANT_ID, "booking_tenant_a", "spa"))
    clock = FixedClock(datetime.fromisoformat("2026-04-25T10:00:00+03:00"))
    booked = Desk(connection, clock, Customer("Wanjiku", OWN_PHONE), {"mpesa": rail})
    await create_booking.run(booked, service="massage", start="2026-04-26T14:00")
    yield booked
    await connection.close()


async def ask(desk: Desk, amount_kes: int = 3500) -> dict[str, object]:
    return await request_payment.run(desk, booking_id=1, rail="mpesa", amount_kes=amount_kes, phone=OWN_PHONE)


async def status(connection: Connection) -> object:
    return (await fetch_required(connection, "SELECT status FROM payments"))["status"]


async def test_a_rail_that_is_down_leaves_no_payment_that_blocks_the_next(desk: Desk, rail: UnreliableRail) -> None:
    rail.is_up = False
    with pytest.raises(RailDownError):
        await ask(desk)
    rail.is_up = True
    assert (await ask(desk))["requested"] is True
    assert len(rail.rail.pushes) == 1


async def test_two_requests_for_one_booking_send_one_push(desk: Desk, rail: UnreliableRail) -> None:
    await ask(desk)
    assert (await ask(desk))["requested"] is False
    assert [(push.phone, push.amount_kes) for push in rail.rail.pushes] == [(OWN_PHONE, 3500)]


@pytest.mark.parametrize("amount", [0, -3500, 1, 3499, 350000])
async def test_no_other_amount_than_the_price_can_be_asked(desk: Desk, rail: UnreliableRail, amount: int) -> None:
    with pytest.raises(ValueError, match=f"cannot ask for {amount} KES"):
        await ask(desk, amount)
    assert rail.rail.pushes == []


async def test_a_reversal_that_broke_off_is_taken_up_by_the_next_callback(desk: Desk, rail: UnreliableRail) -> None:
    await ask(desk)
    await cancel(desk.connection, 1)
    assert (await settle(desk.connection, 1, PAID)).outcome is Outcome.CHARGED_AFTER_CANCELLATION
    rail.is_up = False
    with pytest.raises(RailDownError):
        await reverse_payment.run(desk, payment_id=1)
    assert await status(desk.connection) == "PAYMENT_CANCELLED_BY_CUSTOMER"
    rail.is_up = True
    assert (await settle(desk.connection, 1, PAID)).outcome is Outcome.CHARGED_AFTER_CANCELLATION
    await reverse_payment.run(desk, payment_id=1)
    assert (await settle(desk.connection, 1, PAID)).outcome is Outcome.DUPLICATE
    assert rail.rail.reversals == [("TKL4X8Q2ZP", 3500)]


@pytest.mark.parametrize("settled", [False, True])
async def test_money_that_was_not_cancelled_cannot_be_reversed(
    desk: Desk, rail: UnreliableRail, *, settled: bool
) -> None:
    await ask(desk)
    if settled:
        await settle(desk.connection, 1, PAID)
    before = await status(desk.connection)
    with pytest.raises(LookupError):
        await reverse_payment.run(desk, payment_id=1)
    assert (await status(desk.connection), rail.rail.reversals) == (before, [])
