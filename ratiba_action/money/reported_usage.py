"""What turns cost whose model calls bypass the gateway, as far as the configuration or the system says it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from ratiba_action.errors import BudgetError, ConfigurationError
from ratiba_action.model.conversation import Party, ReportedUsage, Usage, payer
from ratiba_action.model.plan import HEAD
from ratiba_action.model.values import Usd
from ratiba_action.money.pricing import base_model, show_usd
from ratiba_action.ports import Prices, Reservations

DECLARED = "declared price per turn"
"""Stands where a model's name does for what a system says that it costs."""

_NOTHING = Decimal(0)


@dataclass(slots=True)
class TurnPayments:
    """Books the turns of one run.

    A turn costs what is declared or reported, whichever is more: the code that reports it may be the change's own.

    Args:
        reservations: where each turn is reserved and settled.
        prices: of every model that may be reported.
        declared: of each turn; None where the configuration declares nothing.
    """

    reservations: Reservations
    prices: Prices
    declared: Usd | None
    forbidden_models: Collection[str] = ()
    _dearest: Usd = field(default=_NOTHING, init=False)
    reported_calls: int = field(default=0, init=False)

    async def before(self, scenario_id: str, arm: str = HEAD) -> None:
        """Book the declared price of a turn; without one, see that the dearest turn so far would still fit.

        Raises:
            BudgetError: it might pass a cap; the turn must not be sent.
            LedgerError: it cannot be written down.
        """
        party = payer(Party.SYSTEM, arm)
        if self.declared:
            reservation = await self.reservations.reserve(party, scenario_id, DECLARED, self.declared, exact=True)
            await self.reservations.settle(reservation, Usage(), self.declared)
        elif self._dearest:
            reservation = await self.reservations.reserve(
                party, scenario_id, "calls that bypass the gateway", self._dearest, exact=True
            )
            await self.reservations.release(reservation)

    async def after(self, scenario_id: str, reported: Sequence[ReportedUsage], arm: str = HEAD) -> Usd | None:
        """Book what a turn was reported to have used, as far as it is more than what was declared.

        Returns:
            What is declared or what was reported, whichever is more.

        Raises:
            BudgetError: a model has no price, or the money was not there; what is known is booked all the same.
            ConfigurationError: a judge's own model was called.
            LedgerError: it cannot be written down.
        """
        self.reported_calls += len(reported)
        party = payer(Party.SYSTEM, arm)
        paid, total, unknown, refused = self.declared or _NOTHING, _NOTHING, [], ""
        for call in reported:
            try:
                cost = self.prices.price(call.model, call.provider, call.usage)
            except ConfigurationError:
                unknown.append(call.model)
                continue
            total += cost
            refusal = await self._book(party, scenario_id, call, max(cost - paid, _NOTHING))
            refused = refused or refusal
            paid = max(paid - cost, _NOTHING)
        self._dearest = max(self._dearest, total)
        self._require_independence(reported)
        if unknown:
            names = ", ".join(repr(name) for name in sorted(set(unknown)))
            problem = f"The system reported calls of {names} that bypass the gateway, and there is no price for it."
            raise BudgetError(problem, "Give US dollars per million tokens under `prices:`.")
        if refused:
            raise BudgetError(refused, "Declare system.price_per_turn_usd, so that such a turn is not sent.")
        return max(total, self.declared or _NOTHING)

    async def _book(self, party: Party, scenario_id: str, call: ReportedUsage, cost: Usd) -> str:
        """Book money that is spent already; returns what to say where it was not there."""
        if not cost:
            return ""
        try:
            reservation = await self.reservations.reserve(party, scenario_id, call.model, cost, exact=True)
        except BudgetError:
            reservation = await self.reservations.reserve(party, scenario_id, call.model, _NOTHING, exact=True)
            await self.reservations.settle(reservation, call.usage, cost)
            spent = f"{show_usd(cost)} on {call.model!r}"
            return f"The system reported that it spent {spent}, more than was left of the budget."
        await self.reservations.settle(reservation, call.usage, cost)
        return ""

    def _require_independence(self, reported: Sequence[ReportedUsage]) -> None:
        judges = {base_model(name) for name in self.forbidden_models}
        own = sorted({call.model for call in reported if base_model(call.model) in judges})
        if own:
            raise ConfigurationError(
                f"The system called {', '.join(map(repr, own))} bypassing the gateway, the model of a judge: "
                "no model may judge its own output.",
                "Give the judge or the system another model.",
            )


@dataclass(slots=True)
class FreeTurns:
    """The turns of a run that pays for nothing."""

    declared: Usd | None = None
    reported_calls: int = field(default=0, init=False)

    async def before(self, scenario_id: str, arm: str = HEAD) -> None:
        """Let every turn be sent."""

    async def after(
        self,
        scenario_id: str,  # noqa: ARG002 - the port names it
        reported: Sequence[ReportedUsage],
        arm: str = HEAD,  # noqa: ARG002 - the same
    ) -> Usd | None:
        """Book nothing; what was reported is not priced in such a run."""
        self.reported_calls += len(reported)
        return None if reported else self.declared or _NOTHING
