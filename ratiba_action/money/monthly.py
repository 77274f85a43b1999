"""The shared ledger: what all runs together may spend in a month, and on one pull request."""

import contextlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import Any

from ratiba_action.errors import BudgetError, LedgerError, SharedCapError
from ratiba_action.model.conversation import Reservation
from ratiba_action.model.values import Usd
from ratiba_action.money.connection import LedgerConnection
from ratiba_action.money.pricing import is_exact_usd, show_usd, to_cents
from ratiba_action.money.statements import (
    ACCOUNTS,
    CLOSE,
    OPEN_ACCOUNTS,
    OVERRUN,
    RESERVE,
    ensure_schema,
    has_schema,
)


def current_time() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Account:
    """What one cap covers, and how much of it is used.

    Args:
        scope: ``month:2026-11`` or ``pull_request:owner/name#7``.
        spent: closed calls of all runs.
        reserved: calls in flight of all runs, and those that a crash left open.
    """

    scope: str
    cap: Usd
    spent: Usd
    reserved: Usd

    @property
    def name(self) -> str:
        """The account in words: ``the budget of the month 2026-11``."""
        kind, _, name = self.scope.partition(":")
        return f"the budget of the {kind.replace('_', ' ')} {name}"

    @property
    def setting(self) -> str:
        """The input that sets the cap."""
        return "monthly-budget-usd" if self.scope.startswith("month:") else "budget-usd"

    @property
    def left(self) -> Usd:
        """What new calls may still take; below 0 where the cap was lowered."""
        return self.cap - self.spent - self.reserved


class MonthlyLedger:
    """Accounts in PostgreSQL that concurrent runs and shards share.

    A run that crashes leaves its open reservations counted: nobody can know what they cost.

    Args:
        url: connection string of the ledger's database.
        monthly_cap: of a calendar month in UTC, over every run that uses this database.
        run: names this run among the open reservations.
        pull_request: ``owner/name#number``, None when the run belongs to none.
        pull_request_cap: over all runs and shards of that pull request.
        now: the clock, for the month that a reservation falls in.

    Raises:
        BudgetError: a cap is not an exact amount.
    """

    def __init__(
        self,
        url: str,
        monthly_cap: Usd,
        *,
        run: str,
        pull_request: str | None = None,
        pull_request_cap: Usd | None = None,
        now: Callable[[], datetime] = current_time,
    ) -> None:
        for cap in (monthly_cap, pull_request_cap):
            if cap is not None and not is_exact_usd(cap):
                raise BudgetError(f"A cap of the shared ledger is {cap!r}.", "Give at least 0.")
        self._connection = LedgerConnection(url)
        self._monthly_cap = monthly_cap
        self._pull_request = (
            {f"pull_request:{pull_request}": pull_request_cap} if pull_request and pull_request_cap is not None else {}
        )
        self._run = run
        self._now = now
        self._accounts: frozenset[str] = frozenset()
        self._numbers: dict[int, uuid.UUID] = {}

    async def open(self) -> None:
        """Connect, and make the tables unless they are there.

        Raises:
            LedgerError: the server cannot be used, or holds something else of that name.
        """
        await ensure_schema(self._connection)
        await self._ensure_accounts(self._caps())

    async def look(self) -> tuple[Account, ...]:
        """``accounts`` of a ledger that may be empty; makes no table.

        Raises:
            LedgerError: as ``open``.
        """
        if await has_schema(self._connection):
            return await self.accounts()
        return tuple(Account(scope, cap, Decimal(0), Decimal(0)) for scope, cap in self._caps().items())

    async def reserve(self, reservation: Reservation) -> None:
        """Set a call's upper bound aside in the month and the pull request, or in neither.

        Raises:
            SharedCapError: one of the caps has no room; nothing is set aside.
            LedgerError: the ledger cannot be used; the call must not be made.
        """
        caps = self._caps()
        await self._ensure_accounts(caps)
        values = {
            "run": self._run,
            "scopes": list(caps),
            "caps": list(caps.values()),
            "party": reservation.party.value,
            "model": reservation.model,
            "upper": reservation.upper,
        }
        number, rows = await self._reserve(values)
        if len(rows) != len(caps):
            raise LedgerError(
                f"The shared ledger has lost its account of {' or '.join(caps)!r}.",
                "Find out what deletes rows of ratiba_ledger.account: only the gate writes there.",
            )
        if not rows[0][-1]:
            raise _refusal(reservation, [Account(scope, caps[scope], *amounts) for scope, *amounts, _ in rows])
        self._numbers[reservation.number] = number

    async def _reserve(self, values: dict[str, Any]) -> tuple[uuid.UUID, list[tuple[Any, ...]]]:
        """Ask for a reservation, a second time over a new connection where the first was lost."""
        number = uuid.uuid4()
        try:
            return number, await self._connection.fetch(RESERVE, {**values, "id": number})
        except LedgerError:
            await self._take_back(number)
        number = uuid.uuid4()
        try:
            return number, await self._connection.fetch(RESERVE, {**values, "id": number})
        except LedgerError:
            with contextlib.suppress(LedgerError):
                await self._take_back(number)
            raise

    async def dearest_overrun(self, model: str) -> Usd:
        """The most that an answer of a model has cost above its upper bound, in any run of the ledger; 0 for none.

        Raises:
            LedgerError: the ledger cannot be used.
        """
        rows = await self._connection.fetch_surely(OVERRUN, {"model": model})
        return Decimal(rows[0][0] or 0)

    async def settle(self, reservation: Reservation, cost: Usd) -> None:
        """Book what a call cost.

        Raises:
            LedgerError: it could not be written; the call stays reserved in full.
        """
        await self._close(reservation, cost)

    async def keep(self, reservation: Reservation) -> None:
        """Book the whole reservation.

        Raises:
            LedgerError: it could not be written; the call stays reserved in full, which counts the same.
        """
        await self._close(reservation, None)

    async def release(self, reservation: Reservation) -> None:
        """Give a reservation back.

        Raises:
            LedgerError: it could not be written; the call stays reserved in full.
        """
        await self._close(reservation, Decimal(0))

    async def accounts(self) -> tuple[Account, ...]:
        """The month to date, then the pull request to date if there is one.

        Raises:
            LedgerError: the ledger cannot be used.
        """
        caps = self._caps()
        rows: list[tuple[Any, ...]] = await self._connection.fetch_surely(ACCOUNTS, {"scopes": list(caps)})
        found = {scope: (spent, reserved) for scope, spent, reserved in rows}
        return tuple(Account(scope, cap, *found.get(scope, (Decimal(0), Decimal(0)))) for scope, cap in caps.items())

    async def close(self) -> None:
        """End the connection; may be called twice."""
        await self._connection.close()

    def _caps(self) -> dict[str, Usd]:
        """Cap of each account that a reservation made now falls in."""
        return {f"month:{self._now().astimezone(UTC):%Y-%m}": self._monthly_cap, **self._pull_request}

    async def _ensure_accounts(self, caps: dict[str, Usd]) -> None:
        if not self._accounts >= caps.keys():
            await self._connection.fetch_surely(OPEN_ACCOUNTS, {"scopes": list(caps)})
            self._accounts = frozenset(caps)

    async def _close(self, reservation: Reservation, cost: Usd | None) -> None:
        number = self._numbers.pop(reservation.number)
        await self._connection.fetch_surely(CLOSE, {"id": number, "cost": cost})

    async def _take_back(self, number: uuid.UUID) -> None:
        """Undo a reservation whose statement may have taken effect; where that fails too, it stays counted."""
        await self._connection.fetch(CLOSE, {"id": number, "cost": Decimal(0)})


def _refusal(reservation: Reservation, accounts: list[Account]) -> SharedCapError:
    full = [account for account in accounts if account.left < reservation.upper]
    hopeless = any(account.spent + reservation.upper > account.cap for account in full)
    amounts = "; ".join(
        f"{account.name} has {show_usd(account.spent)} spent and {show_usd(account.reserved)} reserved of a "
        f"cap of {show_usd(account.cap)}"
        for account in full
    )
    return SharedCapError(
        f"A call of the {reservation.party} to {reservation.model!r} in scenario {reservation.scenario_id!r} may cost "
        f"{show_usd(reservation.upper, ROUND_CEILING)}: {amounts}.",
        " ".join(dict.fromkeys(_remedy(account, reservation.upper) for account in full)),
        can_fit_later=not hopeless,
    )


def _remedy(account: Account, upper: Usd) -> str:
    minimum = show_usd(to_cents(account.spent + account.reserved + upper))
    amounts = f"from {show_usd(account.cap)} to at least {minimum}"
    if account.scope.startswith("month:"):
        return f"Raise monthly-budget-usd (RATIBA_EVAL_MONTHLY_BUDGET_USD) {amounts}, or wait for the next month."
    return f"Raise budget-usd (RATIBA_EVAL_BUDGET_USD) {amounts}; it holds for all runs of a pull request together."
