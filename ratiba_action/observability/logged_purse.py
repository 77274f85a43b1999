"""Writes down how money moves."""

from ratiba_action.errors import BudgetError
from ratiba_action.model.conversation import KeptAnswer, Party, Reservation, Usage
from ratiba_action.model.event import BudgetAction, BudgetMoved, Event, Place
from ratiba_action.model.values import Usd
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import EventLog, Purse


class LoggedPurse:
    """Implements ``Purse`` around another one.

    Args:
        purse: who pays.
        ledger: the run's books, which the other purse keeps.
        events: where each movement is written down.
    """

    def __init__(self, purse: Purse, ledger: Ledger, events: EventLog) -> None:
        self._purse = purse
        self._ledger = ledger
        self._events = events

    async def reserve(self, party: Party, scenario_id: str, model: str, upper: Usd) -> Reservation:
        """Set money aside; see ``Purse.reserve``."""
        try:
            reservation = await self._purse.reserve(party, scenario_id, model, upper)
        except BudgetError as error:
            self._tell(BudgetAction.REFUSED, party, scenario_id, model, upper, reason=error.problem)
            raise
        self._tell(BudgetAction.RESERVED, party, scenario_id, model, upper)
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, cost: Usd, answer: KeptAnswer | None = None) -> None:
        """Book what an attempt cost; see ``Purse.settle``."""
        await self._purse.settle(reservation, usage, cost, answer)
        self._close(BudgetAction.SETTLED, reservation, cost)

    async def keep(self, reservation: Reservation) -> None:
        """Count a whole reservation as spent; see ``Purse.keep``."""
        await self._purse.keep(reservation)
        self._close(BudgetAction.KEPT, reservation, reservation.upper)

    async def release(self, reservation: Reservation) -> None:
        """Give a reservation back; see ``Purse.release``."""
        await self._purse.release(reservation)
        self._close(BudgetAction.RELEASED, reservation, reservation.upper)

    def _close(self, action: BudgetAction, reservation: Reservation, amount: Usd) -> None:
        self._tell(action, reservation.party, reservation.scenario_id, reservation.model, amount)

    def _tell(
        self, action: BudgetAction, party: Party, scenario_id: str, model: str, amount: Usd, *, reason: str = ""
    ) -> None:
        books = self._ledger
        moved = BudgetMoved(action, party.value, model, amount, books.spent, books.reserved, books.cap, reason)
        self._events.emit(Event(moved, Place(scenario=scenario_id)))
