"""Reservations of live calls against the cap of the run, its write-ahead journal and the shared ledger."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING

from ratiba_action.errors import BudgetError, LedgerError, SharedCapError
from ratiba_action.model.answering_model import answering_model, spelled_otherwise
from ratiba_action.model.conversation import JournaledAnswer, Party, Reservation, SettledAnswer, Usage
from ratiba_action.model.event import BudgetAction, BudgetMoved, Event, Place
from ratiba_action.model.model_request import PaidAnswer, PaidRequest
from ratiba_action.model.note import note_of
from ratiba_action.model.values import Usd
from ratiba_action.money.admissions import Admissions
from ratiba_action.money.budget import Ledger
from ratiba_action.money.journal import Journal
from ratiba_action.money.pricing import is_exact_usd, show_usd
from ratiba_action.ports import EventLog, PaidCalls
from ratiba_action.util.cancellation import uninterrupted

if TYPE_CHECKING:
    from ratiba_action.money.monthly import MonthlyLedger


class SurplusCalls:
    """Implements ``PaidCalls`` for the cross-check, which runs only on money that no scenario may still need.

    Once a call is refused for lack of budget, all are, so that the sample ends at one point of the run.

    Args:
        upper: the most that one call is expected to cost.
    """

    def __init__(self, calls: PaidCalls, admissions: Admissions, upper: Usd) -> None:
        self._calls = calls
        self._admissions = admissions
        self._upper = upper
        self._refusal: BudgetError | None = None

    async def call(self, request: PaidRequest) -> PaidAnswer:
        """The answer; see ``PaidCalls.call``.

        Raises:
            BudgetError: the scenarios may need the money, or a call before this one was refused.
        """
        if self._refusal is not None:
            raise BudgetError(self._refusal.problem, self._refusal.remedy)
        try:
            return await self._afforded(request)
        except BudgetError as refusal:
            self._refusal = self._refusal or refusal
            raise

    async def _afforded(self, request: PaidRequest) -> PaidAnswer:
        refusal = await self._admissions.cross_check_refusal(self._upper)
        if refusal:
            raise BudgetError(refusal)
        return await self._calls.call(request)


class SettledCalls:
    """Implements ``PaidCalls`` around those that cost money; what is settled needs neither a key nor a budget.

    Args:
        settled: answers by ``JournaledAnswer.key``, from the run's write-ahead journal.
    """

    def __init__(self, calls: PaidCalls, settled: Mapping[str, SettledAnswer]) -> None:
        self._calls = calls
        self._settled = settled

    async def call(self, request: PaidRequest) -> PaidAnswer:
        """The answer that is settled, or one that is paid for now; see ``PaidCalls.call``."""
        settled = self._settled.get(request.journal_key)
        if settled is None:
            return await self._calls.call(request)
        return PaidAnswer(settled.body, settled.usage, resumed=True)


class RunReservations:
    """Implements ``Reservations``.

    A reservation is taken from the run's ledger, then from the shared one, then written to the write-ahead journal; if
    one of them refuses, what was taken before is given back. Callers are served in order, so that small calls never
    starve a large one.

    Args:
        ledger: cap and spending of the run, with what a resumed write-ahead journal lists.
        journal: written before each call; None to do without ``--resume``.
        shared: the month's and the pull request's caps; None when they are not tracked.
        warn: called with what could not be written after a call. Such a call stays reserved there, at the most it can
            have cost.
        events: where each movement is written down; None to write none.
    """

    def __init__(
        self,
        ledger: Ledger,
        journal: Journal | None = None,
        shared: "MonthlyLedger | None" = None,
        *,
        warn: Callable[[str], None],
        events: EventLog | None = None,
    ) -> None:
        self._events = events
        self._ledger = ledger
        self._journal = journal
        self._shared = shared
        self._warn = warn
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._in_flight: set[int] = set()

    async def reserve(
        self, party: Party, scenario_id: str, model: str, upper: Usd, *, exact: bool = False
    ) -> Reservation:
        """Set money aside for one attempt; see ``Reservations.reserve``."""
        asked = Reservation(0, party, scenario_id, model, upper, exact)
        try:
            reservation = await self._reserved(asked)
        except BudgetError as error:
            self._log(BudgetAction.REFUSED, party, scenario_id, model=model, amount=upper, reason=error.problem)
            raise
        self._log(BudgetAction.RESERVED, party, scenario_id, model=model, amount=reservation.upper)
        return reservation

    async def _reserved(self, asked: Reservation) -> Reservation:
        async with self._turn:
            while True:
                self._changed.clear()
                wanted = asked if asked.exact else replace(asked, upper=await self._trusted(asked.model, asked.upper))
                try:
                    return await self._take(wanted)
                except BudgetError as refusal:
                    if not self._waiting_helps(refusal, wanted.upper):
                        self._ledger.note_refused(wanted.scenario_id, wanted.upper)
                        raise
                await self._changed.wait()

    async def _trusted(self, model: str, upper: Usd) -> Usd:
        """An upper bound, or what an answer of the model has cost above its own in any run of the ledger, if more."""
        if self._shared is not None:
            dearest = await self._shared.dearest_overrun(model)
            if dearest > self._ledger.dearest_overrun(model):
                self._ledger.learn_overrun(model, dearest)
                self._warn(
                    f"An answer of {model!r} has cost {show_usd(dearest, ROUND_CEILING)} in another run of the shared "
                    "ledger, more than was reserved for it: here, too, each call is reserved at that."
                )
        # What is no amount is refused as it is.
        return max(upper, self._ledger.dearest_overrun(model)) if is_exact_usd(upper) else upper

    async def settle(
        self, reservation: Reservation, usage: Usage, cost: Usd, answer: JournaledAnswer | None = None
    ) -> None:
        """Book what an attempt cost; see ``Reservations.settle``."""
        answered_by = "" if answer is None else spelled_otherwise(reservation.model, answering_model(answer.body))
        self._ledger.settle(reservation, usage, cost, answered_by)
        self._write(lambda journal: journal.settled(reservation, usage, cost, answer))
        await self._close(reservation, lambda shared: shared.settle(reservation, cost))
        self._log_closed(BudgetAction.SETTLED, reservation, cost)

    async def keep(self, reservation: Reservation) -> None:
        """Count a whole reservation as spent; see ``Reservations.keep``."""
        self._ledger.keep(reservation)
        self._write(lambda journal: journal.kept(reservation))
        await self._close(reservation, lambda shared: shared.keep(reservation))
        self._log_closed(BudgetAction.KEPT, reservation, reservation.upper)

    async def release(self, reservation: Reservation) -> None:
        """Give a reservation back; see ``Reservations.release``."""
        await self._release(reservation)
        self._log_closed(BudgetAction.RELEASED, reservation, reservation.upper)

    async def _release(self, reservation: Reservation) -> None:
        self._ledger.release(reservation)
        self._write(lambda journal: journal.released(reservation))
        await self._close(reservation, lambda shared: shared.release(reservation))

    def _log_closed(self, action: BudgetAction, reservation: Reservation, amount: Usd) -> None:
        party, scenario_id = reservation.party, reservation.scenario_id
        self._log(action, party, scenario_id, model=reservation.model, amount=amount)

    def _log(
        self, action: BudgetAction, party: Party, scenario_id: str, *, model: str, amount: Usd, reason: str = ""
    ) -> None:
        if self._events is None:
            return
        ledger = self._ledger
        moved = BudgetMoved(action, party.value, model, amount, ledger.spent, ledger.reserved, ledger.cap, reason)
        self._events.emit(Event(moved, Place(scenario=scenario_id)))

    async def _take(self, wanted: Reservation) -> Reservation:
        reservation = self._ledger.reserve(
            wanted.party, wanted.scenario_id, wanted.model, wanted.upper, exact=wanted.exact
        )
        try:
            cancelled = await self._write_down(reservation)
        except BaseException:
            self._ledger.release(reservation)
            raise
        self._in_flight.add(reservation.number)
        if cancelled:
            await self._release(reservation)
            raise asyncio.CancelledError
        return reservation

    async def _write_down(self, reservation: Reservation) -> bool:
        """Make the reservation known outside this process: only then may the call be made.

        Without a shared ledger this never gives way to other tasks, so that a call goes from its wording to the
        wire in one step.

        Returns:
            Whether the caller was cancelled meanwhile.
        """
        if self._shared is None:
            self._write_reserved(reservation)
            return False
        _, cancelled = await uninterrupted(self._share(self._shared, reservation))
        return cancelled

    async def _share(self, shared: "MonthlyLedger", reservation: Reservation) -> None:
        await shared.reserve(reservation)
        try:
            self._write_reserved(reservation)
        except LedgerError:
            await self._close_shared(shared.release(reservation))
            raise

    def _write_reserved(self, reservation: Reservation) -> None:
        if self._journal is not None:
            self._journal.reserved(reservation)

    def _waiting_helps(self, refusal: BudgetError, upper: Usd) -> bool:
        """Whether a call that is refused now may be let through when those in flight are closed."""
        if not self._in_flight and not self._changed.is_set():
            return False
        if isinstance(refusal, SharedCapError):
            return refusal.can_fit_later
        return self._ledger.could_fit(upper)

    def _write(self, write: Callable[[Journal], None]) -> None:
        if self._journal is not None:
            try:
                write(self._journal)
            except LedgerError as error:
                self._warn(note_of(error))

    async def _close(self, reservation: Reservation, close: "Callable[[MonthlyLedger], Awaitable[None]]") -> None:
        self._changed.set()
        cancelled = False
        try:
            if self._shared is not None:
                _, cancelled = await uninterrupted(self._close_shared(close(self._shared)))
        finally:
            self._in_flight.discard(reservation.number)
            self._changed.set()
        if cancelled:
            raise asyncio.CancelledError

    async def _close_shared(self, closing: Awaitable[None]) -> None:
        """Close a reservation in the shared ledger, or warn that it stays open there."""
        try:
            await closing
        except LedgerError as error:
            self._warn(f"{error} A call of this run stays reserved there in full.")
