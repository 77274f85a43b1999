"""What a turn costs whose models are asked past the gate: declared before, or told in the reply afterwards."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from ratiba_action.errors import BudgetError, ConfigurationError
from ratiba_action.model.conversation import Party, ToldUsage, Usage
from ratiba_action.model.payer import payer
from ratiba_action.model.plan import HEAD
from ratiba_action.model.values import Usd
from ratiba_action.money.model_names import base_model
from ratiba_action.money.money import show_usd
from ratiba_action.ports import Prices, Purse

DECLARED = "declared price per turn"
"""Stands where a model's name does for what a system says that it costs."""

_NOTHING = Decimal(0)


@dataclass(slots=True)
class TurnPayments:
    """Books the turns of one run.

    A turn costs what is declared or what is told, whichever is more: the code that tells it may be the change's own.

    Args:
        purse: who pays.
        prices: of every model that may be told of.
        declared: of each turn; None where the configuration declares nothing.
        forbidden_models: those of the judges.
    """

    purse: Purse
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
            reservation = await self.purse.reserve(party, scenario_id, DECLARED, self.declared)
            await self.purse.settle(reservation, Usage(), self.declared)
        elif self._dearest:
            told = await self.purse.reserve(party, scenario_id, "models past the gate", self._dearest)
            await self.purse.release(told)

    async def after(self, scenario_id: str, told: Sequence[ToldUsage], arm: str = HEAD) -> Usd | None:
        """Book what a turn was told to have used, as far as it is more than what was declared.

        Returns:
            What is declared or what was told, whichever is more.

        Raises:
            BudgetError: a model has no price, or the money was not there; what is known is booked all the same.
            ConfigurationError: a judge's own model was asked.
            LedgerError: it cannot be written down.
        """
        self.reported_calls += len(told)
        party = payer(Party.SYSTEM, arm)
        paid, total, unknown, refused = self.declared or _NOTHING, _NOTHING, [], ""
        for call in told:
            try:
                cost = self.prices.price(call.model, call.provider, call.usage)
            except ConfigurationError:
                unknown.append(call.model)
                continue
            total += cost
            said = await self._book(party, scenario_id, call, max(cost - paid, _NOTHING))
            refused = refused or said
            paid = max(paid - cost, _NOTHING)
        self._dearest = max(self._dearest, total)
        self._require_independence(told)
        if unknown:
            names = ", ".join(repr(name) for name in sorted(set(unknown)))
            problem = f"The system tells that it asked {names} past the gate, and no price is known for it."
            raise BudgetError(problem, "Give US dollars per million tokens under `prices:`.")
        if refused:
            raise BudgetError(refused, "Declare system.price_per_turn_usd, so that such a turn is not sent.")
        return max(total, self.declared or _NOTHING)

    async def _book(self, party: Party, scenario_id: str, call: ToldUsage, cost: Usd) -> str:
        """Book money that is spent already; returns what to say where it was not there."""
        if not cost:
            return ""
        try:
            reservation = await self.purse.reserve(party, scenario_id, call.model, cost)
        except BudgetError:
            reservation = await self.purse.reserve(party, scenario_id, call.model, _NOTHING)
            await self.purse.settle(reservation, call.usage, cost)
            return f"The system tells that it spent {show_usd(cost)} on {call.model!r}, which the budget did not hold."
        await self.purse.settle(reservation, call.usage, cost)
        return ""

    def _require_independence(self, told: Sequence[ToldUsage]) -> None:
        judges = {base_model(name) for name in self.forbidden_models}
        own = sorted({call.model for call in told if base_model(call.model) in judges})
        if own:
            raise ConfigurationError(
                f"The system asked {', '.join(map(repr, own))} past the gate, the model of a judge: no model may judge "
                "its own words.",
                "Give the judge or the system another model.",
            )


@dataclass(slots=True)
class FreeTurns:
    """The turns of a run that pays for nothing.

    Args:
        declared: what a turn costs past the gate, as the configuration declares.
    """

    declared: Usd | None = None
    reported_calls: int = field(default=0, init=False)

    async def before(self, scenario_id: str, arm: str = HEAD) -> None:
        """Let every turn be sent."""

    async def after(
        self,
        scenario_id: str,  # noqa: ARG002 - the port names it
        told: Sequence[ToldUsage],
        arm: str = HEAD,  # noqa: ARG002 - the same
    ) -> Usd | None:
        """Book nothing; what was told is not priced in such a run."""
        self.reported_calls += len(told)
        return None if told else self.declared or _NOTHING
