"""Whether the next trial may start: only if the most that it is expected to cost fits beside those that run.

An estimate decides what is begun; it never decides what is spent. The ledger refuses each call that might pass the
cap, whatever was admitted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import StrEnum

from ratiba_action.model.values import Usd
from ratiba_action.money.money import show_usd

_NOTHING = Decimal(0)
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Limit:
    """One cap that trials run under.

    Args:
        name: in words, such as ``the budget``.
        spent: what is gone; of a shared cap also what other runs have reserved.
        reserved: calls of this run that are in flight.
        setting: the input that sets the cap.
    """

    name: str
    cap: Usd
    spent: Usd
    reserved: Usd = _NOTHING
    setting: str = "budget-usd"

    @property
    def left(self) -> Usd:
        """What new calls may still take; 0 where more than the cap is gone."""
        return max(self.cap - self.spent - self.reserved, _NOTHING)


@dataclass(frozen=True, slots=True)
class Running:
    """A trial that was admitted and has not ended.

    Args:
        envelope: the most that it was expected to cost.
        spent: what it has cost so far, which is part of its limits' ``spent``.
    """

    envelope: Usd
    spent: Usd = _NOTHING

    @property
    def remaining(self) -> Usd:
        """What it is still expected to cost."""
        return max(self.envelope - self.spent, _NOTHING)


class Step(StrEnum):
    """What becomes of the next trial."""

    START = "start"
    WAIT = "wait"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Admission:
    """A step, and why the trial may not start at once."""

    step: Step
    reason: str = ""


def admit(limits: Sequence[Limit], running: Sequence[Running], estimate: Usd) -> Admission:
    """Decide about the next trial.

    Args:
        limits: every one of them must hold.
        running: trials that have not ended; they may turn out cheaper than expected, which is what is waited for.
        estimate: the most that the next trial is expected to cost.
    """
    for limit in limits:
        if limit.spent + estimate > limit.cap:
            return Admission(Step.REFUSE, _refused(limit, estimate))
    for limit in limits:
        if running and _committed(limit, running) + estimate > limit.cap:
            return Admission(Step.WAIT, f"{limit.name} has no room beside the conversations that run")
    return Admission(Step.START)


def cross_check_refusal(
    limits: Sequence[Limit], running: Sequence[Running], waiting: Iterable[Usd], upper: Usd = _NOTHING
) -> str:
    """Why no more scores are cross-checked; empty while it can be afforded.

    The cross-check goes before any scenario does: it may only use what the running and the waiting trials leave.

    Args:
        limits: every one of them must hold.
        running: trials that have not ended.
        waiting: estimates of the trials that have not started.
        upper: the most that the next cross-check can cost.
    """
    needed = sum(waiting, _NOTHING)
    for limit in limits:
        left = limit.cap - _committed(limit, running)
        if left < needed + upper:
            return (
                f"{limit.name} has {show_usd(max(left, _NOTHING), ROUND_FLOOR)} left of {show_usd(limit.cap)}, and the "
                f"scenarios that wait may need {show_usd(needed, ROUND_CEILING)}"
            )
    return ""


def _committed(limit: Limit, running: Sequence[Running]) -> Usd:
    """What is gone or promised: calls in flight belong to running trials, so the larger of the two counts."""
    return limit.spent + max(limit.reserved, sum((trial.remaining for trial in running), _NOTHING))


def _refused(limit: Limit, estimate: Usd) -> str:
    left = max(limit.cap - limit.spent, _NOTHING)
    # To the cent, as the advice what to raise a cap to.
    may, has = show_usd(estimate.quantize(_CENT, ROUND_CEILING)), show_usd(left.quantize(_CENT, ROUND_FLOOR))
    return f"it may cost {may}, and {limit.name} has {has} left of {show_usd(limit.cap)}"
