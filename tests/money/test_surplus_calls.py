"""What the scenarios leave is spent on the cross-check, up to the first call that is refused."""

from decimal import Decimal

import pytest

from ratiba_action.errors import BudgetError
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.model_request import PaidAnswer, PaidRequest
from ratiba_action.money.admissions import Admissions
from ratiba_action.money.budget import Ledger
from ratiba_action.money.reservations import SurplusCalls
from tests.support.live_calls import paid_request

UPPER = Decimal("0.10")


class Provider:
    """Refuses one call for want of money, and answers the others."""

    def __init__(self, refused: int = 0) -> None:
        self.asked = 0
        self._refused = refused

    async def call(self, request: PaidRequest) -> PaidAnswer:
        assert request.model
        self.asked += 1
        if self.asked == self._refused:
            raise BudgetError("The cap is reached.", "Raise it.")
        return PaidAnswer({}, Usage())


def spare(provider: Provider, ledger: Ledger) -> SurplusCalls:
    return SurplusCalls(provider, Admissions((), lambda _: UPPER, ledger), UPPER)


async def test_a_call_that_does_not_fit_is_not_made_nor_any_after_it() -> None:
    provider, ledger = Provider(), Ledger(Decimal("0.15"))
    calls = spare(provider, ledger)
    await calls.call(paid_request())
    ledger.settle(ledger.reserve(Party.JUDGE, "spa", "m", UPPER), Usage(), UPPER)
    for _ in range(2):
        with pytest.raises(BudgetError, match="the budget of this run has"):
            await calls.call(paid_request())
    assert provider.asked == 1


async def test_a_call_that_the_purse_refuses_is_the_last_one_also_when_a_later_one_would_fit() -> None:
    provider = Provider(refused=2)
    calls = spare(provider, Ledger(Decimal(20)))
    await calls.call(paid_request())
    for _ in range(3):
        with pytest.raises(BudgetError, match="The cap is reached"):
            await calls.call(paid_request())
    assert provider.asked == 2
