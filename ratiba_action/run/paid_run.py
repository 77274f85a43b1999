"""What a run needs to pay for model calls: client with the keys, reservations, write-ahead journal, admissions."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.config.configuration import Configuration
from ratiba_action.config.model_limits import ModelsBlock
from ratiba_action.config.providers_block import ProviderBlock
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.canonical import digest
from ratiba_action.model.change import Subject
from ratiba_action.model.conversation import SettledAnswer
from ratiba_action.model.plan import Trial
from ratiba_action.model.shard import Shard
from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import SharedSpending
from ratiba_action.money.admissions import THIS_RUN, Admissions
from ratiba_action.money.budget import Ledger, Limit
from ratiba_action.money.journal import Journal, begin_journal, read_journal, restore_journal, resume_journal
from ratiba_action.money.journal_lines import JournalState, parse_journal
from ratiba_action.money.pricing import parse_model_rates, show_usd
from ratiba_action.money.reservations import RunReservations, SettledCalls, SurplusCalls
from ratiba_action.ports import EventLog, PaidCalls, Prices, Reservations
from ratiba_action.run.inputs import ArmInputs, RunInputs
from ratiba_action.run.provider_keys import keys_of, state_folder
from ratiba_action.settings.settings import Settings

if TYPE_CHECKING:
    from ratiba_action.llm.providers.client import ProviderClient
    from ratiba_action.llm.providers.cloud import CloudAccess
    from ratiba_action.money.monthly import MonthlyLedger
    from ratiba_action.money.sealed_journal import SealedPlace

SEALED_JOURNALS = "RATIBA_SEALED_JOURNALS"
"""Variable of the action with the folder of the sealed copy that this attempt of a run writes."""

EARLIER_JOURNALS = "RATIBA_EARLIER_JOURNALS"
"""The same for the copies that earlier attempts have left."""

_SHOWN = 16
_MIN_CALLS = 8
"""At once: a conversation may have several judges."""


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """Where a run writes its write-ahead journal.

    Args:
        identity: digest of what must be equal for another process to go on with the run.
        sealed: where a copy is written that outlives the container; None for none.
    """

    path: Path
    identity: str
    workspace: Path
    resume: bool = False
    sealed: "SealedPlace | None" = None


def journal_folder(environment: Mapping[str, str]) -> Path:
    """Where write-ahead journals of runs are kept."""
    return state_folder(environment) / "journals"


def journal_path(repository: Path, environment: Mapping[str, str], shard: Shard | None = None) -> Path:
    """Where the run of a repository writes its write-ahead journal; each of its shards has its own."""
    part = f"-{shard.number}-of-{shard.count}" if shard is not None else ""
    return journal_folder(environment) / f"{digest(str(repository.resolve()))[:_SHOWN]}{part}.jsonl"


def journal_place(inputs: RunInputs, head: ArmInputs) -> JournalPlace:
    """Where the run of this repository writes its write-ahead journal, and what makes it this run's.

    Args:
        inputs: of the run, each part as strict as the base's.
        head: commit, scenarios and prompts, as they were when the run began.
    """
    identity = digest(
        {
            "configuration": inputs.configuration.model_dump(mode="json"),
            "commit": inputs.decided.change.files.head or "",
            "suite": inputs.suite.digest,
            "scenarios": [scenario.id for scenario in head.scenarios],
            "trials": [scenario.strategy.trials for scenario in head.scenarios],
            "prompts": list(head.prompt_blobs),
            "base": inputs.decided.change.files.base or "",
            "llm": inputs.llm,
        }
    )
    path = journal_path(inputs.repository, inputs.environment, inputs.settings.shard)
    path = path.with_stem(f"{path.stem}-{inputs.journal}") if inputs.journal else path
    return JournalPlace(path, identity, inputs.repository, inputs.resume, inputs.sealed)


def sealed_place(inputs: RunInputs) -> "SealedPlace | None":
    """Where this attempt of a workflow run keeps its sealed write-ahead journal; None without a key, or elsewhere."""
    from ratiba_action.money.sealed_journal import JournalRun, SealedPlace

    subject, settings = inputs.decided.change.subject, inputs.settings
    folder = inputs.environment.get(SEALED_JOURNALS, "")
    if not (settings.journal_key and folder and subject.repository and subject.run_id) or inputs.llm == Llm.REPLAY:
        return None
    shard = str(settings.shard) if settings.shard is not None else ""
    run = JournalRun(subject.repository, subject.run_id, settings.name, shard)
    return SealedPlace(Path(folder), settings.journal_key, run, max(1, subject.run_attempt))


def go_on_with_earlier(inputs: RunInputs, head: ArmInputs, note: Callable[[str], None]) -> RunInputs:
    """The inputs of a run that goes on with what an earlier attempt of its workflow run has left, where it can.

    Args:
        inputs: of the run; of its share, if it is a shard.
        note: called with what this attempt goes on with, or why it cannot.

    Raises:
        LedgerError: what was left was altered, or cannot be put into its place.
    """
    from ratiba_action.money.sealed_journal import find_copy

    sealed, folder = sealed_place(inputs), inputs.environment.get(EARLIER_JOURNALS, "")
    inputs = replace(inputs, sealed=sealed)
    if sealed is None or not folder or inputs.resume:
        return inputs
    copy = find_copy(Path(folder), sealed.key, sealed.run, sealed.attempt)
    if copy is None or copy.concluded:
        return inputs
    place = journal_place(inputs, head)
    state = parse_journal(place.path, copy.content)
    if state.identity != place.identity:
        note(
            f"The write-ahead journal of attempt {copy.attempt} is not used: its scenarios, configuration or source of "
            f"model answers differ. The {show_usd(state.total)} that it lists are not counted in this attempt's budget."
        )
        return inputs
    restore_journal(place.path, copy.content, place.workspace)
    note(
        f"This run goes on with attempt {copy.attempt}, which was interrupted: {show_usd(state.total)} of its budget "
        f"were spent there, and what was answered then is not paid for again."
    )
    return replace(inputs, resume=True, sealed=replace(sealed, holds=(*copy.holds, copy.attempt)))


def end_journal(place: JournalPlace, cancelled: bool, *, concluded: bool, interrupted: bool) -> None:  # noqa: FBT001 - of a callback
    """Remove what nobody goes on with: a write-ahead journal holds what models and customers said.

    Args:
        cancelled: whether the run was cancelled while it was published.
        concluded: whether the run has its conclusion. Otherwise a person may go on with it on this machine.
        interrupted: whether the run was cut short, so that the next attempt of a workflow run goes on with it.
    """
    from ratiba_action.money.sealed_journal import conclude_copy

    if concluded:
        place.path.unlink(missing_ok=True)
    if place.sealed is not None and not (interrupted or cancelled):
        with contextlib.suppress(OSError):  # on a full disk the next attempt goes on with it, and pays less
            conclude_copy(place.sealed)


@dataclass(frozen=True, slots=True)
class PaidRun:
    """An open way to live models.

    Args:
        shared: None without a shared ledger.
        settled: what an earlier process of this run was answered, by ``JournaledAnswer.key``.
        began: when the first process of this run began, in nanoseconds of the epoch; None when nobody noted it.
    """

    fresh: PaidCalls
    reservations: Reservations
    admissions: Admissions
    shared: "MonthlyLedger | None"
    settled: Mapping[str, SettledAnswer] = field(default_factory=dict)
    began: int | None = None

    @property
    def calls(self) -> PaidCalls:
        """For the system under test and its judge."""
        return SettledCalls(self.fresh, self.settled) if self.settled else self.fresh

    def surplus_calls(self, upper: Usd) -> PaidCalls:
        """For the cross-check: paid out of what the scenarios leave; what is settled is answered all the same.

        Args:
            upper: the most that one call is expected to cost.
        """
        surplus = SurplusCalls(self.fresh, self.admissions, upper)
        return SettledCalls(surplus, self.settled) if self.settled else surplus

    async def shared_spending(self) -> tuple[SharedSpending, ...]:
        """What the runs of the shared ledger have spent together.

        Raises:
            LedgerError: it cannot be read.
        """
        accounts = await self.shared.accounts() if self.shared is not None else ()
        return tuple(SharedSpending(each.name, each.spent + each.reserved, each.cap) for each in accounts)


@asynccontextmanager
async def open_paid_run(
    settings: Settings,
    configuration: Configuration,
    *,
    subject: Subject | None = None,
    journal: JournalPlace | None = None,
    trials: Sequence[Trial] = (),
    estimate: Callable[[Trial], Usd] = lambda _: Usd(0),
    ledger: Ledger,
    prices: Prices,
    environment: Mapping[str, str],
    warn: Callable[[str], None],
    concurrency: int,
    events: EventLog,
) -> AsyncIterator[PaidRun]:
    """Open everything that stands between a caller and a provider, and close it on every way out.

    Args:
        settings: with keys, other addresses of providers, and the shared ledger.
        configuration: providers, and the bounds of each call.
        subject: names the run in the shared ledger; None for one that has no name there.
        journal: where calls are written down; None for calls that cannot be resumed.
        estimate: the most that a trial is expected to cost.
        ledger: the run's spending; what a resumed write-ahead journal lists is added first.
        environment: variables that name a proxy and certificates.
        warn: called with what could not be written down after a call.
        concurrency: scenarios at once; each asks one model at a time, or its judges.
        events: where the movements of money are written down.

    Raises:
        LedgerError: the write-ahead journal or the shared ledger cannot be used.
        ConfigurationError: a key or an address is wrong.
    """
    async with AsyncExitStack() as stack:
        opened = _open_journal(journal)
        if opened is not None:
            stack.callback(opened.close)
            # Only a resumed write-ahead journal holds anything; a variant goes on with the ledger of the run before it.
            if opened.state.last_number:
                ledger.carry_on(opened.state.calls, opened.state.last_number, overruns=opened.state.overruns)
        shared = await open_shared_ledger(settings, subject or Subject(), ledger)
        if shared is not None:
            stack.push_async_callback(shared.close)
        reservations = RunReservations(ledger, opened, shared, warn=warn, events=events)
        client = await stack.enter_async_context(_client(settings, configuration, environment))
        maximum = max(concurrency, _MIN_CALLS)
        calls = _calls(client, configuration.models, reservations, prices=prices, concurrency=maximum, note=warn)
        admissions = Admissions(trials, estimate, ledger, opened, shared)
        if opened is None:
            yield PaidRun(calls, reservations, admissions, shared)
        else:
            yield PaidRun(calls, reservations, admissions, shared, opened.state.answers, opened.state.began)


def _client(settings: Settings, configuration: Configuration, environment: Mapping[str, str]) -> "ProviderClient":
    from ratiba_action.llm.providers.client import (  # loads aiohttp
        ProviderClient,
        ProviderRoute,
        Timeouts,
    )

    addresses = settings.base_urls | {name: block.address for name, block in configuration.providers.items()}
    given: dict[str, dict[str, Any]] = {
        name: {"output_limit": block.output_limit, "cloud": _cloud_access(settings, block)}
        for name, block in configuration.providers.items()
    }
    routes = tuple(
        ProviderRoute(name, key, addresses.get(name, ""), configuration.wire_of(name), **given.get(name, {}))
        for name, key in keys_of(settings, configuration).items()
    )
    models = configuration.models
    return ProviderClient(routes, environment, Timeouts(models.connect_timeout_seconds, models.timeout_seconds))


def _cloud_access(settings: Settings, block: ProviderBlock) -> "CloudAccess | None":
    if block.api not in {"bedrock", "vertex"}:
        return None
    from ratiba_action.llm.providers.cloud import CloudAccess  # with the client alone

    aws = settings.named_keys if block.api == "bedrock" else {}
    access, token = aws.get(block.access_key, ""), aws.get(block.session_token, "")
    return CloudAccess(block.api, block.region or "", block.project or "", access, token)


def _calls(
    client: "ProviderClient",
    models: ModelsBlock,
    reservations: Reservations,
    *,
    prices: Prices,
    concurrency: int,
    note: Callable[[str], None],
) -> PaidCalls:
    from ratiba_action.llm.providers.bounds import OutputLimits
    from ratiba_action.llm.providers.metered import (
        CallRetryPolicy,
        MeteredCalls,
    )

    own = {name: OutputLimits(*models.output_of(name)) for name in models.overrides}
    return MeteredCalls(
        client,
        reservations,
        prices,
        limits=OutputLimits(*models.output_of(), of=own),
        retries=CallRetryPolicy(attempts=models.retries + 1, longest_wait=models.longest_wait_seconds),
        concurrency=concurrency,
        note=note,
    )


def _open_journal(place: JournalPlace | None) -> Journal | None:
    if place is None:
        return None
    begin = resume_journal if place.resume else begin_journal
    return begin(place.path, place.identity, place.workspace, place.sealed)


def earlier_spending(place: JournalPlace) -> JournalState | None:
    """What an earlier process of the same run has paid for; None unless the run is resumed.

    Raises:
        LedgerError: its write-ahead journal cannot be used.
    """
    return read_journal(place.path, place.identity, place.workspace) if place.resume else None


def has_account(settings: Settings, subject: Subject) -> bool:
    """Whether the shared ledger has an account that all shards of a run reserve from: that of its pull request."""
    return bool(settings.ledger_url and subject.repository and subject.pull_request)


def shares_of_budget(settings: Settings, subject: Subject) -> int:
    """How many shards the budget is divided by; 1 where there is one run, or all shards have one account.

    Args:
        settings: of the run or the shard.
        subject: names it in the shared ledger.
    """
    return 1 if settings.shard is None or has_account(settings, subject) else settings.shard.count


async def limits_before(settings: Settings, subject: Subject, paid: Usd) -> tuple[Limit, ...]:
    """Every cap of a run that has not begun, with what is gone of it.

    Args:
        settings: with its own cap and the shared ledger.
        paid: by an earlier process of it; the shared ledger counts that already.

    Raises:
        LedgerError: the shared ledger cannot be read.
    """
    own = Limit(THIS_RUN, settings.budget_usd, paid, shares=shares_of_budget(settings, subject))
    shared = _shared_ledger(settings, subject, settings.budget_usd)
    if shared is None:
        return (own,)
    try:
        accounts = await shared.look()
    finally:
        await shared.close()
    return (
        own,
        *(
            Limit(account.name, account.cap, account.spent + account.reserved, setting=account.setting)
            for account in accounts
        ),
    )


def _shared_ledger(settings: Settings, subject: Subject, cap: Usd) -> "MonthlyLedger | None":
    if not settings.ledger_url:
        return None
    from ratiba_action.money.monthly import MonthlyLedger

    number = f"{subject.repository}#{subject.pull_request}" if subject.repository and subject.pull_request else None
    return MonthlyLedger(
        settings.ledger_url,
        settings.monthly_budget_usd,
        run=f"{subject.run_id}.{subject.run_attempt}" if subject.run_id else secrets.token_hex(8),
        pull_request=number,
        pull_request_cap=cap,
    )


async def open_shared_ledger(settings: Settings, subject: Subject, ledger: Ledger) -> "MonthlyLedger | None":
    """The ledger that other runs share, to be closed by whoever opens it; None where there is none.

    Raises:
        LedgerError: it cannot be used.
    """
    shared = _shared_ledger(settings, subject, ledger.cap)
    if shared is None:
        return None
    try:
        await shared.open()
    except BaseException:
        await shared.close()
        raise
    return shared


def require_reachable_servers(environment: Mapping[str, str], *urls: str) -> None:
    """Refuse addresses of databases that cannot work where the gate runs; empty ones are no addresses.

    Raises:
        ConfigurationError: says what to write instead.
    """
    for url in filter(None, urls):
        from ratiba_action.tenancy.reachability import require_reachable

        require_reachable(url, environment.get("RATIBA_CONTAINER_NETWORK", ""))


def price_list(configuration: Configuration, base_urls: Mapping[str, str]) -> Prices:
    """List prices at the providers' addresses, with the configuration's own where it gives them.

    Args:
        configuration: declares providers and prices.
        base_urls: addresses that the inputs give, by provider.

    Raises:
        ConfigurationError: a configured price is wrong.
    """
    from ratiba_action.money.prices import PriceList  # loads the price data

    given = {model: price.model_dump(exclude_none=True) for model, price in configuration.prices.items()}
    return PriceList(
        parse_model_rates(given),
        base_urls={**base_urls, **{name: provider.address for name, provider in configuration.providers.items()}},
    )
