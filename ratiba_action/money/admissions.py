"""Lets trials start one after the other, as the budget allows."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from ratiba_action.errors import LedgerError
from ratiba_action.model.conversation import Party
from ratiba_action.model.plan import Trial
from ratiba_action.model.values import Usd
from ratiba_action.money.budget import BudgetStep, Ledger, Limit, Running, admit, cross_check_refusal
from ratiba_action.money.journal import Journal

if TYPE_CHECKING:
    from ratiba_action.money.monthly import MonthlyLedger

_NOTHING = Decimal(0)

THIS_RUN = "the budget of this run"


@dataclass(frozen=True, slots=True)
class _Admitted:
    trial: Trial
    spent_before: Usd

    @property
    def scenario_id(self) -> str:
        return self.trial.scenario.id


class Admissions:
    """Who may start, in the order of asking.

    Args:
        trials: the plan; those that have not asked yet are waiting.
        estimate: the most that a trial is expected to cost, all parties but the cross-check. It is asked again while
            the trial runs, since the calls of a run tell what the next ones may cost.
        journal: notes who was admitted. Trials that an earlier process of this run admitted are admitted again.
        shared: the month's and the pull request's caps.
    """

    def __init__(
        self,
        trials: Sequence[Trial],
        estimate: Callable[[Trial], Usd],
        ledger: Ledger,
        journal: Journal | None = None,
        shared: "MonthlyLedger | None" = None,
    ) -> None:
        self._ledger = ledger
        self._journal = journal
        self._shared = shared
        self._turn = asyncio.Lock()
        self._ended = asyncio.Event()
        self._waiting: dict[str, Usd] = {}
        self._estimate = estimate
        self._running: dict[str, _Admitted] = {}
        self._promised: dict[str, _Admitted] = {}
        self._refused: set[str] = set()
        self._no_cross_check = ""
        self.expect(trials)

    def expect(self, trials: Sequence[Trial]) -> None:
        """Further trials will ask to start; until then what is spare is not spent on cross-checks."""
        before = self._journal.state.admitted if self._journal is not None else frozenset()
        for trial in trials:
            name = trial_name(trial)
            if name in before:
                self._promised[name] = self._admitted(trial, spent_before=_NOTHING)
            else:
                self._waiting[name] = self._estimate(trial)

    def was_admitted(self, trial: Trial) -> bool:
        """Whether an earlier process of this run let a trial start."""
        return self._journal is not None and trial_name(trial) in self._journal.state.admitted

    def was_refused(self, trial: Trial) -> bool:
        """Whether a trial was not let start because a cap would not hold it."""
        return trial_name(trial) in self._refused

    @asynccontextmanager
    async def admit(self, trial: Trial) -> AsyncIterator[str]:
        """Wait until a trial may start or cannot.

        Yields:
            Why it must not run; empty when it runs, for as long as the context lasts.
        """
        refusal = await self._ask(trial)
        try:
            yield refusal
        finally:
            self._running.pop(trial_name(trial), None)
            self._ended.set()

    async def cross_check_refusal(self, upper: Usd = _NOTHING) -> str:
        """Why a score must not be cross-checked; empty when it may. Once given up, it stays so for the run.

        Args:
            upper: the most that the question to the second judge can cost.
        """
        if not self._no_cross_check:
            try:
                limits = await self.limits()
            except LedgerError as error:
                return str(error)
            refusal = cross_check_refusal(limits, self._trials(self._running), self._waiting.values(), upper)
            self._no_cross_check = self._no_cross_check or refusal
        return self._no_cross_check

    async def _ask(self, trial: Trial) -> str:
        promised = self._promised.pop(trial_name(trial), None)
        if promised is not None:
            self._running[trial_name(trial)] = promised
            return ""
        async with self._turn:
            while True:
                self._ended.clear()
                try:
                    limits = await self.limits()
                except LedgerError as error:
                    self._waiting.pop(trial_name(trial), None)
                    return str(error)
                admission = admit(limits, self._trials(self._running), self._estimate(trial))
                if admission.step is BudgetStep.WAIT:
                    await self._ended.wait()
                    continue
                self._waiting.pop(trial_name(trial), None)
                if admission.step is BudgetStep.REFUSE:
                    self._refused.add(trial_name(trial))
                return admission.reason if admission.step is BudgetStep.REFUSE else self._let_in(trial)

    def _let_in(self, trial: Trial) -> str:
        if self._journal is not None:
            try:
                self._journal.admitted(trial_name(trial))
            except LedgerError as error:
                return str(error)
        self._running[trial_name(trial)] = self._admitted(trial, self._spent_on(trial.scenario.id))
        return ""

    def _admitted(self, trial: Trial, spent_before: Usd) -> _Admitted:
        return _Admitted(trial, spent_before)

    def _spent_on(self, scenario_id: str) -> Usd:
        return self._ledger.spent_on(scenario_id, without=Party.CROSS_CHECK)

    def _trials(self, admitted: Mapping[str, _Admitted]) -> tuple[Running, ...]:
        """What admitted trials may still cost.

        What a scenario has cost is known, not which of its trials caused it: of several, none is taken to have spent.
        """
        if not admitted:
            return ()
        several = Counter(running.scenario_id for running in (*self._running.values(), *self._promised.values()))
        return tuple(
            Running(
                self._estimate(running.trial),
                self._spent_on(running.scenario_id) - running.spent_before
                if several[running.scenario_id] == 1
                else _NOTHING,
            )
            for running in admitted.values()
        )

    async def limits(self) -> tuple[Limit, ...]:
        """Every cap that trials run under, with what is gone of it.

        Raises:
            LedgerError: the shared ledger cannot be read.
        """
        accounts = await self._shared.accounts() if self._shared is not None else ()
        own = self._ledger.reserved
        promised = sum((trial.remaining for trial in self._trials(self._promised)), _NOTHING)
        others = {account.scope: max(account.reserved - own, _NOTHING) for account in accounts}
        shared = (
            Limit(shared.name, shared.cap, shared.spent + promised + others[shared.scope], own, shared.setting)
            for shared in accounts
        )
        allowed, aside = self._ledger.allowed, self._ledger.aside
        spent = self._ledger.spent + aside + promised
        return (Limit(THIS_RUN, allowed + aside, spent, own, shares=self._ledger.shares), *shared)


def trial_name(trial: Trial) -> str:
    """Names a trial within its run."""
    return f"{trial.arm.name}/{trial.scenario.id}/{trial.number}"
