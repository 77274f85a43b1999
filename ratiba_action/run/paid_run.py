"""What a run needs to pay for model calls: the client that holds the keys, the purse, the journal, who may start."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ratiba_action.config.model_limits import ModelsBlock
from ratiba_action.model.conversation import SettledAnswer
from ratiba_action.model.plan import Trial
from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import SharedSpending
from ratiba_action.money.admissions import THIS_RUN, Admissions
from ratiba_action.money.books import Books
from ratiba_action.money.budget import Ledger, Limit
from ratiba_action.money.journal import Journal, begin_journal, read_journal, resume_journal
from ratiba_action.money.monthly import MonthlyLedger
from ratiba_action.money.purse import RunPurse, SettledCalls, SpareCalls
from ratiba_action.observability.logged_ports import LoggedPurse
from ratiba_action.ports import EventLog, PaidCalls, Prices, Purse

_LEAST_CALLS = 8
"""At once: a conversation may have several judges."""


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """Where a run writes its journal.

    Args:
        path: outside the workspace.
        identity: digest of what must be equal for another process to go on with the run.
        resume: go on with the journal that is there.
    """

    path: Path
    identity: str
    workspace: Path
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Payment:
    """Who is paid, out of what.

    Args:
        keys: of each provider that may be asked.
        base_urls: other addresses, by provider; empty for the provider's own.
        journal: None to do without ``--resume``.
        ledger_url: of the ledger that other runs share; empty for none.
        monthly_budget: of that ledger.
        run: names this run there.
        pull_request: ``owner/name#number`` there; empty for none.
        models: bounds of each call.
    """

    keys: Mapping[str, str] = field(repr=False)
    base_urls: Mapping[str, str]
    journal: JournalPlace | None
    ledger_url: str = field(repr=False)
    monthly_budget: Usd
    run: str
    pull_request: str
    models: ModelsBlock = field(default_factory=ModelsBlock)


@dataclass(frozen=True, slots=True)
class PaidRun:
    """An open way to live models.

    Args:
        fresh: calls that cost money.
        shared: None without a shared ledger.
        settled: what an earlier process of this run was answered, by ``KeptAnswer.key``.
        began: when the first process of this run began, in nanoseconds of the epoch; None when nobody noted it.
    """

    fresh: PaidCalls
    purse: Purse
    admissions: Admissions
    shared: MonthlyLedger | None
    settled: Mapping[str, SettledAnswer] = field(default_factory=dict)
    began: int | None = None

    @property
    def calls(self) -> PaidCalls:
        """For the system under test and its judge."""
        return SettledCalls(self.fresh, self.settled)

    def spare_calls(self, upper: Usd) -> PaidCalls:
        """For the cross-check: paid out of what the scenarios leave; what is settled is answered all the same.

        Args:
            upper: the most that one call is expected to cost.
        """
        return SettledCalls(SpareCalls(self.fresh, self.admissions, upper), self.settled)

    async def shared_spending(self) -> tuple[SharedSpending, ...]:
        """What the runs of the shared ledger have spent together.

        Raises:
            LedgerError: it cannot be read.
        """
        accounts = await self.shared.accounts() if self.shared is not None else ()
        return tuple(SharedSpending(each.name, each.spent + each.reserved, each.cap) for each in accounts)


@asynccontextmanager
async def open_paid_run(
    payment: Payment,
    trials: Sequence[Trial],
    estimate: Callable[[Trial], Usd],
    *,
    ledger: Ledger,
    prices: Prices,
    environment: Mapping[str, str],
    warn: Callable[[str], None],
    concurrency: int,
    events: EventLog,
) -> AsyncIterator[PaidRun]:
    """Open everything that stands between a caller and a provider, and close it on every way out.

    Args:
        payment: who is paid, out of what.
        trials: of the run.
        estimate: the most that a trial is expected to cost.
        ledger: the run's books; what a resumed journal holds is booked first.
        prices: of every model.
        environment: variables that name a proxy and certificates.
        warn: told what could not be written down after a call.
        concurrency: scenarios at once; each asks one model at a time, or its judges.
        events: where the movements of money are written down.

    Raises:
        LedgerError: the journal or the shared ledger cannot be used.
        ConfigurationError: a key or an address is wrong.
    """
    async with AsyncExitStack() as stack:
        journal = _open_journal(payment.journal)
        if journal is not None:
            stack.callback(journal.close)
            # Only a resumed journal holds anything; a variant goes on with the ledger of the run before it.
            if journal.books.last_number:
                ledger.carry_on(journal.books.calls, journal.books.last_number)
        shared = await _open_shared(payment, ledger)
        if shared is not None:
            stack.push_async_callback(shared.close)
        purse = LoggedPurse(RunPurse(ledger, journal, shared, warn=warn), ledger, events)
        calls = await _open_calls(
            stack, payment, purse, prices=prices, environment=environment, concurrency=max(concurrency, _LEAST_CALLS)
        )
        admissions = Admissions(trials, estimate, ledger, journal, shared)
        if journal is None:
            yield PaidRun(calls, purse, admissions, shared)
        else:
            yield PaidRun(calls, purse, admissions, shared, journal.books.answers, journal.books.began)


async def _open_calls(
    stack: AsyncExitStack,
    payment: Payment,
    purse: Purse,
    *,
    prices: Prices,
    environment: Mapping[str, str],
    concurrency: int,
) -> PaidCalls:
    from ratiba_action.llm.providers.bounds import OutputLimits  # noqa: PLC0415 - not needed to decide
    from ratiba_action.llm.providers.client import (  # noqa: PLC0415 - loads aiohttp
        ProviderClient,
        ProviderRoute,
        Timeouts,
    )
    from ratiba_action.llm.providers.metered import (  # noqa: PLC0415 - loaded where it is used
        MeteredCalls,
        RetryPolicy,
    )

    models = payment.models
    routes = tuple(
        ProviderRoute(provider, key, payment.base_urls.get(provider, "")) for provider, key in payment.keys.items()
    )
    timeouts = Timeouts(models.connect_timeout_seconds, models.timeout_seconds)
    own = {name: OutputLimits(*models.output_of(name)) for name in models.overrides}
    return MeteredCalls(
        await stack.enter_async_context(ProviderClient(routes, environment, timeouts)),
        purse,
        prices,
        limits=OutputLimits(*models.output_of(), of=own),
        retries=RetryPolicy(attempts=models.retries + 1, longest_wait=models.longest_wait_seconds),
        concurrency=concurrency,
    )


def _open_journal(place: JournalPlace | None) -> Journal | None:
    if place is None:
        return None
    begin = resume_journal if place.resume else begin_journal
    return begin(place.path, place.identity, place.workspace)


def books_of(payment: Payment) -> Books | None:
    """What an earlier process of the same run has paid for; None unless the run is resumed.

    Raises:
        LedgerError: its journal cannot be used.
    """
    place = payment.journal
    if place is None or not place.resume:
        return None
    return read_journal(place.path, place.identity, place.workspace)


async def limits_before(payment: Payment, cap: Usd, paid: Usd) -> tuple[Limit, ...]:
    """Every cap of a run that has not begun, with what is gone of it.

    Args:
        payment: what it pays out of.
        cap: its own.
        paid: by an earlier process of it; the shared ledger counts that already.

    Raises:
        LedgerError: the shared ledger cannot be read.
    """
    own = Limit(THIS_RUN, cap, paid)
    shared = _shared_ledger(payment, cap)
    if shared is None:
        return (own,)
    try:
        accounts = await shared.look()
    finally:
        await shared.close()
    return (own, *(Limit(one.name, one.cap, one.spent + one.reserved, setting=one.setting) for one in accounts))


def _shared_ledger(payment: Payment, cap: Usd) -> MonthlyLedger | None:
    if not payment.ledger_url:
        return None
    return MonthlyLedger(
        payment.ledger_url,
        payment.monthly_budget,
        run=payment.run,
        pull_request=payment.pull_request or None,
        pull_request_cap=cap,
    )


async def _open_shared(payment: Payment, ledger: Ledger) -> MonthlyLedger | None:
    shared = _shared_ledger(payment, ledger.cap)
    if shared is None:
        return None
    try:
        await shared.open()
    except BaseException:
        await shared.close()
        raise
    return shared
