"""What a turn costs past the gate: declared, told, or the larger of both; money that is spent is always counted."""

from decimal import Decimal

import pytest

from ratiba_action.errors import BudgetError, ConfigurationError
from ratiba_action.model.conversation import Party, ReportedUsage, Usage
from ratiba_action.money.budget import Ledger
from ratiba_action.money.prices import PriceList
from ratiba_action.money.pricing import ModelRates
from ratiba_action.money.reported_usage import DECLARED, TurnPayments
from ratiba_action.money.reservations import RunReservations

DOLLAR = Decimal(1_000_000)
PRICES = PriceList({name: ModelRates(DOLLAR, DOLLAR, DOLLAR, DOLLAR) for name in ("own", "other", "judge")})
"""Every token costs a dollar."""


def reported(model: str, tokens: int) -> ReportedUsage:
    return ReportedUsage(model, "", Usage(input_tokens=tokens))


class Run:
    """The books of one run and who pays its turns."""

    def __init__(self, cap: int, declared: int | None = None) -> None:
        self.ledger = Ledger(Decimal(cap))
        self.reservations = RunReservations(self.ledger, warn=lambda _: None)
        price = None if declared is None else Decimal(declared)
        self.turns = TurnPayments(self.reservations, PRICES, price, ["judge"])

    async def turn(self, *usage: ReportedUsage) -> None:
        await self.turns.before("spa")
        await self.turns.after("spa", usage)

    def booked(self) -> dict[str, Decimal]:
        assert {call.party for call in self.ledger.calls} <= {Party.SYSTEM}
        assert self.ledger.reserved == 0
        return dict(self.ledger.snapshot().by_model)


async def test_a_declared_price_is_booked_before_the_turn_and_one_that_does_not_fit_is_not_sent() -> None:
    run = Run(cap=5, declared=3)
    await run.turn()
    with pytest.raises(BudgetError):
        await run.turns.before("spa")
    assert run.booked() == {DECLARED: 3}


async def test_reported_usage_is_booked_by_model_at_the_runs_prices() -> None:
    run = Run(cap=10)
    await run.turn(reported("own", 2), reported("other", 3))
    assert run.booked() == {"own": 2, "other": 3}
    assert run.ledger.breaches == ()


@pytest.mark.parametrize(("tokens", "booked"), [(1, {DECLARED: 3}), (3, {DECLARED: 3}), (5, {DECLARED: 3, "own": 2})])
async def test_a_turn_costs_the_larger_of_what_is_declared_and_what_is_reported(
    tokens: int, booked: dict[str, Decimal]
) -> None:
    run = Run(cap=10, declared=3)
    await run.turn(reported("own", tokens))
    assert run.booked() == booked


async def test_a_turn_is_not_sent_when_the_dearest_so_far_would_not_fit() -> None:
    run = Run(cap=5)
    await run.turn(reported("own", 3))
    with pytest.raises(BudgetError):
        await run.turns.before("spa")
    assert run.booked() == {"own": 3}


async def test_money_that_is_reported_and_was_not_there_is_counted_in_full_and_is_an_error() -> None:
    run = Run(cap=5)
    with pytest.raises(BudgetError, match="'own', more than was left of the budget"):
        await run.turn(reported("own", 6), reported("other", 2))
    assert run.booked() == {"own": 6, "other": 2}
    assert len(run.ledger.breaches) == 2
    with pytest.raises(BudgetError):
        await run.turns.before("spa")


async def test_a_reported_model_without_a_price_is_named_and_the_others_are_booked() -> None:
    run = Run(cap=5)
    with pytest.raises(BudgetError, match="'nobody-knows-it' that bypass the gateway, and there is no price") as caught:
        await run.turn(reported("nobody-knows-it", 1), reported("own", 2))
    assert "`prices:`" in caught.value.remedy
    assert run.booked() == {"own": 2}


async def test_a_judges_model_is_refused_past_the_gate_too_and_paid_all_the_same() -> None:
    run = Run(cap=5)
    with pytest.raises(ConfigurationError, match="no model may judge its own output"):
        await run.turn(reported("judge", 2))
    assert run.booked() == {"judge": 2}


async def test_a_turn_that_tells_nothing_costs_nothing() -> None:
    run = Run(cap=5)
    await run.turn()
    assert run.booked() == {}
