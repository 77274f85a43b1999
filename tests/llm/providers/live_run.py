"""A run of its own that pays for calls until it is done or killed.

Usage: python live_run.py URL JOURNAL begin|resume CALLS CAP
"""

import asyncio
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from ratiba_action.errors import BudgetError, ProviderError
from ratiba_action.llm.providers.bounds import OutputLimits
from ratiba_action.llm.providers.client import ProviderClient
from ratiba_action.llm.providers.metered import CallRetryPolicy, MeteredCalls
from ratiba_action.model.model_request import PaidRequest
from ratiba_action.money.budget import Ledger
from ratiba_action.money.journal import begin_journal, resume_journal
from ratiba_action.money.prices import PriceList
from ratiba_action.money.reservations import RunReservations, SettledCalls
from tests.support.live_calls import MODELS, RATES, paid_request, routes_to


def requests(calls: int) -> list[PaidRequest]:
    """So many calls, each with its number in what it says."""
    endpoints = [list(MODELS)[number % len(MODELS)] for number in range(calls)]
    return [
        paid_request(endpoint, number, **_numbered(endpoint, f"call {number}"))
        for number, endpoint in enumerate(endpoints)
    ]


def _numbered(endpoint: str, text: str) -> dict[str, Any]:
    if endpoint == "generateContent":
        return {"systemInstruction": {"parts": [{"text": text}]}}
    if endpoint == "converse":
        return {"system": [{"text": text}]}
    return {"system" if endpoint == "messages" else "user": text}


async def run(url: str, journal_path: Path, how: str, calls: int, cap: Decimal) -> None:
    """Make the calls, all at once, and go on after those that fail."""
    start = resume_journal if how == "resume" else begin_journal
    journal = start(journal_path, "identity", Path.cwd())
    ledger = Ledger(cap)
    ledger.carry_on(journal.state.calls, journal.state.last_number)
    reservations = RunReservations(ledger, journal, warn=sys.exit)
    async with ProviderClient(routes_to(url), {}) as client:
        metered = MeteredCalls(
            client,
            reservations,
            PriceList(dict.fromkeys(MODELS.values(), RATES)),
            limits=OutputLimits(default=500),
            retries=CallRetryPolicy(first_wait=0.001),
        )
        asking = SettledCalls(metered, journal.state.answers)
        outcomes = await asyncio.gather(*map(asking.call, requests(calls)), return_exceptions=True)
    journal.close()
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, BudgetError | ProviderError):
            raise outcome


if __name__ == "__main__":
    address, path, way, count, maximum = sys.argv[1:]
    asyncio.run(run(address, Path(path), way, int(count), Decimal(maximum)))
