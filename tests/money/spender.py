"""A run of its own: spends what the shared ledger lets it, and prints what it paid.

Usage: python spender.py URL MONTHLY_CAP PULL_REQUEST PULL_REQUEST_CAP CALLS SEED
"""

import asyncio
import random
import sys
from decimal import Decimal

from ratiba_action.errors import BudgetError
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.money.budget import Ledger
from ratiba_action.money.monthly import MonthlyLedger
from ratiba_action.money.reservations import RunReservations


async def spend(shared: MonthlyLedger, calls: int, seed: str) -> Decimal:
    """What ``calls`` calls at once have paid."""
    chance = random.Random(seed)  # noqa: S311 - chooses the test's prices
    await shared.open()
    ledger = Ledger(Decimal(1000))
    reservations = RunReservations(ledger, shared=shared, warn=sys.exit)

    async def call() -> None:
        upper = Decimal(chance.randrange(1, 400)).scaleb(-4)
        try:
            reservation = await reservations.reserve(Party.SYSTEM, "spa", "gpt-6", upper)
        except BudgetError:
            return
        await asyncio.sleep(0)
        outcome = chance.random()
        if outcome < 0.2:
            await reservations.release(reservation)
        elif outcome < 0.3:
            await reservations.keep(reservation)
        else:
            cost = (upper * chance.randrange(0, 101) / 100).quantize(Decimal("1E-12"))
            await reservations.settle(reservation, Usage(1, 1), cost)

    await asyncio.gather(*(call() for _ in range(calls)))
    await shared.close()
    return ledger.spent


if __name__ == "__main__":
    url, monthly, pull_request, cap, calls, seed = sys.argv[1:]
    shared = MonthlyLedger(
        url, Decimal(monthly), run=f"run {seed}", pull_request=pull_request, pull_request_cap=Decimal(cap)
    )
    print(asyncio.run(spend(shared, int(calls), seed)))  # noqa: T201 - the answer
