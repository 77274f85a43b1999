"""The budget: money is reserved before each model call and settled after it.

A call is reserved at the most it can cost, so spent + reserved never passes the cap, whatever the interleaving, as long
as no call settles above its reservation; one that does is counted in full and reported as a breach. The ledger is
synchronous and does no I/O: on one event loop each of its methods is atomic.

Admission decides whether the next trial may start: only if what it is expected to cost fits beside those that run. It
never decides what is spent; the ledger refuses each call that might pass the cap, whatever was admitted.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import StrEnum

from ratiba_action.errors import BudgetError
from ratiba_action.model.conversation import ModelCall, Party, Reservation, Usage
from ratiba_action.model.shard import Shard
from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import Refusals, Spending
from ratiba_action.money.pricing import is_exact_usd, show_usd, to_cents

_NOTHING = Decimal(0)
_CENT = Decimal("0.01")
_ENOUGH_CALLS = 10
"""Settled, after which they tell what the next call to the same model may cost."""
_DIGITS = 12
"""After the point of an exact amount, in which a cap is divided."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One cap that trials run under.

    Args:
        name: in words, such as ``the budget``.
        spent: what is gone; of a shared cap also what other runs have reserved.
        reserved: calls of this run that are in flight.
        setting: the input that sets the cap.
        shares: how many shards have such a cap each, as their part of what the input says.
    """

    name: str
    cap: Usd
    spent: Usd
    reserved: Usd = _NOTHING
    setting: str = "budget-usd"
    shares: int = 1

    @property
    def left(self) -> Usd:
        """What new calls may still take; 0 where more than the cap is gone."""
        return max(self.cap - self.spent - self.reserved, _NOTHING)


@dataclass(frozen=True, slots=True)
class Running:
    """A trial that was admitted and has not ended.

    Args:
        envelope: the most that it was expected to cost.
        spent: what it has cost so far, which is part of its limits' ``spent``.
    """

    envelope: Usd
    spent: Usd = _NOTHING

    @property
    def remaining(self) -> Usd:
        """What it is still expected to cost."""
        return max(self.envelope - self.spent, _NOTHING)


class BudgetStep(StrEnum):
    """What becomes of the next trial."""

    START = "start"
    WAIT = "wait"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Admission:
    """A step, and why the trial may not start at once."""

    step: BudgetStep
    reason: str = ""


def admit(limits: Sequence[Limit], running: Sequence[Running], estimate: Usd) -> Admission:
    """Decide about the next trial.

    Args:
        limits: every one of them must hold.
        running: trials that have not ended; they may turn out cheaper than expected, which is what is waited for.
        estimate: the most that the next trial is expected to cost.
    """
    for limit in limits:
        if limit.spent + estimate > limit.cap:
            return Admission(BudgetStep.REFUSE, _refused(limit, estimate))
    for limit in limits:
        if running and _committed(limit, running) + estimate > limit.cap:
            return Admission(BudgetStep.WAIT, f"{limit.name} has no room beside the running scenarios")
    return Admission(BudgetStep.START)


def cross_check_refusal(
    limits: Sequence[Limit], running: Sequence[Running], waiting: Iterable[Usd], upper: Usd = _NOTHING
) -> str:
    """Why no more scores are cross-checked; empty while it can be afforded.

    The cross-check goes before any scenario does: it may only use what the running and the waiting trials leave.

    Args:
        limits: every one of them must hold.
        running: trials that have not ended.
        waiting: estimates of the trials that have not started.
        upper: the most that the next cross-check can cost.
    """
    needed = sum(waiting, _NOTHING)
    for limit in limits:
        left = limit.cap - _committed(limit, running)
        if left < needed + upper:
            return (
                f"{limit.name} has {show_usd(max(left, _NOTHING), ROUND_FLOOR)} left of {show_usd(limit.cap)}, and the "
                f"scenarios that wait may need {show_usd(needed, ROUND_CEILING)}"
            )
    return ""


def _committed(limit: Limit, running: Sequence[Running]) -> Usd:
    """What is gone or promised: calls in flight belong to running trials, so the larger of the two counts."""
    return limit.spent + max(limit.reserved, sum((trial.remaining for trial in running), _NOTHING))


def _refused(limit: Limit, estimate: Usd) -> str:
    left = max(limit.cap - limit.spent, _NOTHING)
    # To the cent, as the advice what to raise a cap to; but an amount below one cent is not nothing.
    unit = _CENT if left >= _CENT else _NOTHING
    needed, has = _to(unit, estimate, ROUND_CEILING), _to(unit, left, ROUND_FLOOR)
    return f"it may cost {needed}, and {limit.name} has {has} left of {show_usd(limit.cap)}"


def _to(unit: Usd, amount: Usd, rounding: str) -> str:
    return show_usd(amount.quantize(unit, rounding) if unit else amount, rounding)


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """What calls to one model have cost so far.

    Args:
        dearest: the most that a call was reserved at.
    """

    mean: Usd
    dearest: Usd


class Ledger:
    """The money of one run.

    Args:
        cap: the most that the run may spend.
        shares: see ``Limit``.

    Raises:
        BudgetError: the cap is not an exact amount of at least 0.
    """

    def __init__(self, cap: Usd, shares: int = 1) -> None:
        self._cap = self._allowed = _exact(cap, "the cap")
        self.shares = shares
        self._spent = self._aside = _NOTHING
        self._reserved = _NOTHING
        self._open: dict[int, Reservation] = {}
        self._count = self._attempts = 0
        self._calls: list[ModelCall] = []
        self._discarded: list[ModelCall] = []
        self._cache_hits = 0
        self._refusals = Refusals()
        self._breaches: list[str] = []
        self._overruns: dict[str, Usd] = {}
        self._refused: dict[str, Usd] = {}
        self._uppers: dict[str, Usd] = {}
        self._settled: dict[str, tuple[int, Usd]] = {}
        self._live = 0
        self._carried = _NOTHING
        self._by_scenario: defaultdict[str, defaultdict[Party, Usd]] = defaultdict(lambda: defaultdict(Decimal))

    @property
    def cap(self) -> Usd:
        """The most that the run may spend."""
        return self._cap

    @property
    def allowed(self) -> Usd:
        """The most that may be spent now: the cap, or less within ``limited_to`` and after ``set_aside``."""
        return self._allowed

    @contextmanager
    def limited_to(self, amount: Usd) -> Iterator[None]:
        """Within, calls may cost at most this much together, and never more than the cap leaves.

        Raises:
            BudgetError: it is not an exact amount of at least 0.
        """
        before = self._allowed
        self._allowed = min(before, self._spent + self._reserved + _exact(amount, "the limit"))
        try:
            yield
        finally:
            self._allowed = before

    def set_aside(self, amount: Usd) -> None:
        """Lower what may be spent from now on, by what others may have spent of the same cap.

        Args:
            amount: in US dollars; what is above the cap leaves nothing.

        Raises:
            BudgetError: it is not an exact amount of at least 0.
        """
        amount = min(_exact(amount, "what is set aside"), self._allowed)
        self._aside += amount
        self._allowed -= amount

    @property
    def aside(self) -> Usd:
        """What others may have spent of the cap."""
        return self._aside

    @property
    def spent(self) -> Usd:
        """What finished calls cost, with the whole reservation of those that were kept."""
        return self._spent

    @property
    def reserved(self) -> Usd:
        """The sum of the reservations of calls in flight."""
        return self._reserved

    @property
    def cache_hits(self) -> int:
        """Scores that were taken from the judge cache."""
        return self._cache_hits

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Every call that was booked, in order, without those whose results do not count."""
        return tuple(self._calls)

    @property
    def carried(self) -> Usd:
        """What an earlier process of the same run, or its shards, had spent."""
        return self._carried

    @property
    def live_calls(self) -> int:
        """Calls that were booked and that no recording answered."""
        return self._live

    @property
    def breaches(self) -> tuple[str, ...]:
        """Each call that cost more than its reservation, in words; empty unless an upper bound was wrong."""
        return tuple(self._breaches)

    def dearest_overrun(self, model: str) -> Usd:
        """The most that an answer of a model has cost above its upper bound; 0 where none has."""
        return self._overruns.get(model, _NOTHING)

    def learn_overrun(self, model: str, cost: Usd) -> None:
        """Remember that an answer of a model has cost so much, above its upper bound."""
        self._overruns[model] = max(cost, self.dearest_overrun(model))

    def spent_on(self, scenario_id: str, *, without: Party | None = None) -> Usd:
        """What finished calls of one scenario cost, of all parties or all but one."""
        spent: Mapping[Party, Usd] = self._by_scenario.get(scenario_id, {})
        return sum((cost for party, cost in spent.items() if party is not without), _NOTHING)

    def costs_of(self, model: str) -> ModelCosts | None:
        """What calls to a model have cost; None before the tenth one is settled, since fewer tell too little."""
        count, total = self._settled.get(model, (0, _NOTHING))
        return ModelCosts(total / count, self._uppers[model]) if count >= _ENOUGH_CALLS else None

    def note_refused(self, scenario_id: str, upper: Usd) -> None:
        """Remember that a call of a scenario was refused for good, by this cap or one that other runs share.

        Args:
            upper: the most that it could have cost.
        """
        if is_exact_usd(upper):
            self._refused[scenario_id] = max(upper, self._refused.get(scenario_id, _NOTHING))

    def refused_on(self, scenario_id: str) -> Usd | None:
        """The most that a refused call of a scenario could have cost; None where none was refused."""
        return self._refused.get(scenario_id)

    def could_fit(self, upper: Usd) -> bool:
        """Whether a call fits if every call in flight turns out to cost nothing; if not, waiting cannot help."""
        return is_exact_usd(upper) and self._spent + upper <= self._allowed

    def carry_on(
        self,
        calls: Iterable[ModelCall],
        last_number: int,
        *,
        cache_hits: int = 0,
        breaches: Iterable[str] = (),
        discarded: Iterable[ModelCall] = (),
        refusals: Refusals | None = None,
        attempts: int = 0,
        overruns: Iterable[tuple[Reservation, Usd]] = (),
    ) -> None:
        """Begin where an earlier process of the same run, or its shards, ended.

        Args:
            calls: what was paid for; they count as this run's, even where they pass the cap.
            last_number: of its reservations; new ones go on from there.
            cache_hits: scores that were taken from the judge cache.
            breaches: as in ``breaches``.
            discarded: calls of attempts whose results do not count: their money does, and they answer nothing.
            refusals: of its shards; None for none.
            attempts: of its shards, see ``Spending``.
            overruns: reservations that were settled above their upper bound, and at what.

        Raises:
            ValueError: this ledger was used before.
            BudgetError: a cost is not an exact amount.
        """
        if self._count or self._calls or self._discarded:
            raise ValueError("A ledger that was used cannot carry on another one.")
        carried, discarded = tuple(calls), tuple(discarded)
        for call in (*carried, *discarded):
            _exact(call.cost, f"the cost of a call to {call.model!r}")
        for call in carried:
            self._add(call)
        for call in discarded:
            self._pay(call)
            self._discarded.append(call)
        self._count = last_number
        self._carried = self._spent
        self._cache_hits += cache_hits
        self._breaches += breaches
        self._refusals = refusals or self._refusals
        self._attempts += attempts
        for reservation, cost in overruns:
            self._note_breach(reservation, cost)

    def reserve(self, party: Party, scenario_id: str, model: str, upper: Usd, *, exact: bool = False) -> Reservation:
        """Set money aside for one call that can cost at most ``upper``; see ``Reservation`` for ``exact``.

        Raises:
            BudgetError: spent + reserved + upper would pass the cap; nothing is reserved. What can cost nothing always
                fits, so that money that is spent already can be booked.
        """
        _exact(upper, f"the upper bound of a call to {model!r}")
        if upper and self._spent + self._reserved + upper > self._allowed:
            part = f", which is one of {self.shares} shares" if self.shares > 1 else ""
            raise BudgetError(
                f"A call of the {party} to {model!r} in scenario {scenario_id!r} may cost "
                f"{show_usd(upper, ROUND_CEILING)}: {show_usd(self._spent)} is spent and "
                f"{show_usd(self._reserved)} reserved of a cap of {show_usd(self._cap)}{part}.",
                f"Raise budget-usd (RATIBA_EVAL_BUDGET_USD) from {show_usd(self._cap * self.shares)} to at least "
                f"{show_usd(to_cents((self._spent + self._reserved + upper) * self.shares))}, or run fewer scenarios.",
            )
        self._count += 1
        self._attempts += upper > _NOTHING
        reservation = Reservation(self._count, party, scenario_id, model, upper, exact)
        self._open[reservation.number] = reservation
        self._reserved += upper
        self._uppers[model] = max(upper, self._uppers.get(model, _NOTHING))
        return reservation

    def settle(self, reservation: Reservation, usage: Usage, cost: Usd, answered_by: str = "") -> None:
        """Book what a call cost instead of its reservation.

        A cost above the reservation is counted in full and added to ``breaches``; the upper bound of its model is not
        trusted again.

        Args:
            reservation: open.
            usage: tokens of the call.
            cost: in US dollars.
            answered_by: see ``ModelCall``.

        Raises:
            ValueError: the reservation was closed before, or is another ledger's.
            BudgetError: the cost is not an exact amount; the reservation stays open.
        """
        _exact(cost, f"the cost of a call to {reservation.model!r}")
        self._close(reservation)
        if cost > reservation.upper:
            self._note_breach(reservation, cost)
        self._book(reservation, usage, cost, answered_by)
        count, total = self._settled.get(reservation.model, (0, _NOTHING))
        self._settled[reservation.model] = (count + 1, total + cost)

    def _note_breach(self, reservation: Reservation, cost: Usd) -> None:
        text = (
            f"A call of the {reservation.party} to {reservation.model!r} in scenario {reservation.scenario_id!r} cost "
            f"{show_usd(cost, ROUND_CEILING)}, reserved were {show_usd(reservation.upper)}."
        )
        if not reservation.exact:
            self.learn_overrun(reservation.model, cost)
            text += " From now on each call to it is reserved at what it has cost."
        self._breaches.append(text)

    def keep(self, reservation: Reservation) -> None:
        """Count the whole reservation as spent: the call timed out, and what it cost is unknown.

        Raises:
            ValueError: the reservation was closed before, or is another ledger's.
        """
        self._close(reservation)
        self._book(reservation, Usage(), reservation.upper)

    def release(self, reservation: Reservation) -> None:
        """Give the reservation back: the provider refused the call and charges nothing.

        Raises:
            ValueError: the reservation was closed before, or is another ledger's.
        """
        self._close(reservation)

    def record_replayed(
        self, party: Party, scenario_id: str, model: str, usage: Usage, list_price: Usd, *, answered_by: str = ""
    ) -> None:
        """Count a call that a recording answered: it costs nothing, and would have cost ``list_price`` live."""
        _exact(list_price, f"the price of a call to {model!r}")
        replayed = ModelCall(party, scenario_id, model, usage, _NOTHING, list_price, replayed=True)
        self._calls.append(replace(replayed, answered_by=answered_by))

    def count_cache_hit(self) -> None:
        """Count a score that was taken from the judge cache."""
        self._cache_hits += 1

    @property
    def refusals(self) -> Refusals:
        """The requests of the system that the gateway refused."""
        return self._refusals

    def count_refusal(self, why: str) -> None:
        """Count a request of the system that the gateway refused."""
        self._refusals += Refusals(1, why)

    def snapshot(self) -> Spending:
        """The money so far; what is reserved for calls in flight is left out.

        Calls whose results do not count are part of the money, and not of the numbers of calls.
        """
        paid = (*self._calls, *self._discarded)
        return Spending(
            cap=self._cap,
            spent=self._spent,
            list_price=sum((call.list_price for call in paid), _NOTHING),
            live_calls=self._live,
            replayed_calls=len(self._calls) - self._live,
            cache_hits=self._cache_hits,
            by_party=_sums((call.party.value, call.cost) for call in paid),
            by_model=_sums((call.model, call.cost) for call in paid),
            refused=self._refusals,
            attempts=self._attempts,
        )

    def _close(self, reservation: Reservation) -> None:
        if self._open.get(reservation.number) is not reservation:
            raise ValueError(f"Reservation {reservation.number} was closed before, or belongs to another ledger.")
        del self._open[reservation.number]
        self._reserved -= reservation.upper

    def _book(self, reservation: Reservation, usage: Usage, cost: Usd, answered_by: str = "") -> None:
        party, scenario_id, model = reservation.party, reservation.scenario_id, reservation.model
        self._add(ModelCall(party, scenario_id, model, usage, cost, cost, replayed=False, answered_by=answered_by))

    def _add(self, call: ModelCall) -> None:
        self._pay(call)
        self._calls.append(call)
        self._live += not call.replayed

    def _pay(self, call: ModelCall) -> None:
        self._spent += call.cost
        self._by_scenario[call.scenario_id][call.party] += call.cost


def share_of_cap(cap: Usd, shard: Shard) -> Usd:
    """What one shard may spend where no ledger is shared: the shares of all shards sum up to exactly the cap.

    Args:
        cap: in US dollars, with at most 12 digits after the point.
        shard: the share's number and how many there are. The first ones take what cannot be divided evenly.
    """
    units = int(_exact(cap, "the cap").scaleb(_DIGITS))
    each, rest = divmod(units, shard.count)
    return Decimal(each + (shard.number <= rest)).scaleb(-_DIGITS)


def _exact(amount: Usd, what: str) -> Usd:
    if not is_exact_usd(amount):
        raise BudgetError(
            f"{what[0].upper()}{what[1:]} is {amount!r}.",
            "Give at least 0, with no more than 12 digits after the point.",
        )
    return amount


def _sums(amounts: Iterable[tuple[str, Usd]]) -> dict[str, Usd]:
    sums: defaultdict[str, Usd] = defaultdict(Decimal)
    for name, amount in amounts:
        sums[name] += amount
    return dict(sums)
