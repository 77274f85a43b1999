"""Who pays the turns of a run: those of a system that calls models bypassing the gateway cost money in every run."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from ratiba_action.money.budget import Ledger
from ratiba_action.money.reported_usage import FreeTurns, TurnPayments
from ratiba_action.money.reservations import RunReservations
from ratiba_action.ports import Prices, TurnBooks
from ratiba_action.run.inputs import RunInputs, RunLog
from ratiba_action.run.paid_run import PaidRun, open_shared_ledger, require_reachable_servers


@asynccontextmanager
async def open_turn_books(
    inputs: RunInputs,
    paid: PaidRun | None,
    *,
    ledger: Ledger,
    prices: Prices,
    judges: Collection[str],
    log: RunLog,
) -> AsyncIterator[TurnBooks]:
    """What books the turns of a run.

    A declared price is reserved in a replayed run too: the gate needs no key there, and the system has its own.

    Args:
        paid: the way to live models; None when every answer is replayed.
        prices: of every model that may be reported.
        judges: their models, which a system must not call.

    Raises:
        LedgerError: the shared ledger cannot be used.
        ConfigurationError: its address cannot work where the gate runs.
    """
    declared = inputs.configuration.system.price_per_turn_usd
    if paid is not None:
        yield TurnPayments(paid.reservations, prices, declared, judges)
        return
    if not declared:
        yield FreeTurns(declared)
        return
    require_reachable_servers(inputs.environment, inputs.settings.ledger_url)
    shared = await open_shared_ledger(inputs.settings, inputs.decided.change.subject, ledger)
    try:
        reservations = RunReservations(ledger, None, shared, warn=log.note, events=log.events)
        yield TurnPayments(reservations, prices, declared, judges)
    finally:
        if shared is not None:
            await shared.close()
