"""Money for tests: reservations in memory, with a log of what was done."""

import asyncio
from dataclasses import dataclass
from decimal import Decimal

from ratiba_action.errors import BudgetError
from ratiba_action.model.conversation import JournaledAnswer, Party, Reservation, Usage
from ratiba_action.model.values import Usd
from ratiba_action.money.pricing import is_exact_usd


@dataclass(frozen=True, slots=True)
class ReservationEvent:
    """One thing that was done with a reservation.

    Args:
        what: ``reserve``, ``settle``, ``keep`` or ``release``.
        amount: what was set aside, paid or given back.
    """

    what: str
    reservation: Reservation
    amount: Usd
    usage: Usage | None = None
    answer: JournaledAnswer | None = None


class MemoryReservations:
    """Implements ``Reservations`` in memory.

    Args:
        cap: the most that may be spent.
        refusal: raised by every ``reserve`` when given.
    """

    def __init__(self, cap: Usd = Decimal(1000), refusal: Exception | None = None) -> None:
        self.events: list[ReservationEvent] = []
        self.spent = Decimal(0)
        self._cap = cap
        self._refusal = refusal
        self._open: dict[int, Reservation] = {}
        self._count = 0
        self._overruns: dict[str, Usd] = {}
        self._closed = asyncio.Event()

    @property
    def open(self) -> tuple[Reservation, ...]:
        """Reservations that were not closed."""
        return tuple(self._open.values())

    @property
    def reserved(self) -> Usd:
        """Their sum."""
        return sum((one.upper for one in self._open.values()), Decimal(0))

    @property
    def done(self) -> tuple[str, ...]:
        """What was done, in order: ``("reserve", "settle", …)``."""
        return tuple(event.what for event in self.events)

    async def reserve(
        self, party: Party, scenario_id: str, model: str, upper: Usd, *, exact: bool = False
    ) -> Reservation:
        """Set money aside; see ``Reservations.reserve``."""
        if self._refusal is not None:
            raise self._refusal
        _require_exact(upper)
        upper = upper if exact else max(upper, self._overruns.get(model, Decimal(0)))
        while not self._fits(upper):
            if not self._may_fit(upper):
                raise BudgetError(f"A call may cost {upper}: {self.spent} is spent of {self._cap}.")
            self._closed.clear()
            await self._closed.wait()
        self._count += 1
        reservation = Reservation(self._count, party, scenario_id, model, upper, exact)
        self._open[reservation.number] = reservation
        self.events.append(ReservationEvent("reserve", reservation, upper))
        return reservation

    async def settle(
        self, reservation: Reservation, usage: Usage, cost: Usd, answer: JournaledAnswer | None = None
    ) -> None:
        """Book what a call cost; see ``Reservations.settle``."""
        _require_exact(cost)
        if cost > reservation.upper and not reservation.exact:
            self._overruns[reservation.model] = max(cost, self._overruns.get(reservation.model, Decimal(0)))
        await self._close(ReservationEvent("settle", reservation, cost, usage, answer), cost)

    async def keep(self, reservation: Reservation) -> None:
        """Count a whole reservation as spent; see ``Reservations.keep``."""
        await self._close(ReservationEvent("keep", reservation, reservation.upper), reservation.upper)

    async def release(self, reservation: Reservation) -> None:
        """Give a reservation back; see ``Reservations.release``."""
        await self._close(ReservationEvent("release", reservation, reservation.upper), Decimal(0))

    async def _close(self, event: ReservationEvent, cost: Usd) -> None:
        number = event.reservation.number
        if self._open.get(number) is not event.reservation:
            raise ValueError(f"Reservation {number} was closed before, or belongs to another run.")
        del self._open[number]
        self.spent += cost
        self.events.append(event)
        self._closed.set()

    def _fits(self, upper: Usd) -> bool:
        return not upper or self.spent + self.reserved + upper <= self._cap

    def _may_fit(self, upper: Usd) -> bool:
        return bool(self._open) and self.spent + upper <= self._cap


def _require_exact(amount: Usd) -> None:
    if not is_exact_usd(amount):
        raise BudgetError(f"An amount is {amount!r}.", "Give at least 0.")
