"""Which of two conversations is better: asked in both orders, because judges favour a position."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ratiba_action.core.canonical import transcript_digest
from ratiba_action.core.model.conversation import Transcript
from ratiba_action.errors import JudgeError


class Side(StrEnum):
    """Which of two conversations."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"

    @property
    def swapped(self) -> "Side":
        """The same conversation when the two change places."""
        return {Side.FIRST: Side.SECOND, Side.SECOND: Side.FIRST}.get(self, Side.TIE)


@dataclass(frozen=True, slots=True)
class Preference:
    """What a judge prefers of two conversations in the order in which they were shown; its words are untrusted."""

    better: Side
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two conversations to be compared, in the order in which they are shown.

    Args:
        criterion: ``name:version`` of what they are compared by.
        steps: how to compare, ours.
        trial: number of the scenario's repeat, from 0.
    """

    scenario_id: str
    criterion: str
    steps: tuple[str, ...] = field(repr=False)
    first: Transcript = field(repr=False)
    second: Transcript = field(repr=False)
    trial: int = 0

    @property
    def swapped(self) -> "Comparison":
        """The same comparison with the conversations in the other order."""
        return Comparison(self.scenario_id, self.criterion, self.steps, self.second, self.first, self.trial)


class PairwiseJudge(Protocol):
    """A model that says which of two conversations is better."""

    async def prefer(self, comparison: Comparison) -> Preference:
        """The better one in the order shown.

        Raises:
            JudgeError: the answer is outside the contract.
            BudgetError: the call was refused.
        """
        ...


@dataclass(frozen=True, slots=True)
class PairwiseOutcome:
    """Which conversation is better in both orders.

    Args:
        winner: a tie when the judge preferred a position, or neither.
        as_given: what it said of the order given.
        swapped: what it said of the other order, its sides turned back to those of the order given.
    """

    winner: Side
    as_given: Preference
    swapped: Preference

    @property
    def consistent(self) -> bool:
        """Whether both orders agree; where they do not, the position decided and not the conversation."""
        return self.as_given.better == self.swapped.better


async def compare_both_orders(comparison: Comparison, judge: PairwiseJudge) -> PairwiseOutcome:
    """Ask in both orders at once; a winner needs both.

    Raises:
        JudgeError: one of the answers is outside the contract, or a conversation is empty.
        BudgetError: a call was refused.
    """
    _require_replies(comparison, (comparison.first, comparison.second))
    if transcript_digest(comparison.first) == transcript_digest(comparison.second):
        same = Preference(Side.TIE, "Both say the same; no judge was asked.")
        return PairwiseOutcome(Side.TIE, same, same)
    asked = (judge.prefer(comparison), judge.prefer(comparison.swapped))
    given, turned = _both(await asyncio.gather(*asked, return_exceptions=True))
    turned = Preference(turned.better.swapped, turned.reason)
    winner = given.better if given.better == turned.better else Side.TIE
    return PairwiseOutcome(winner, given, turned)


def _both(outcomes: Sequence[Preference | BaseException]) -> tuple[Preference, Preference]:
    """Both answers, or the first error: neither call is left running."""
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    first, second = (outcome for outcome in outcomes if isinstance(outcome, Preference))
    return first, second


def _require_replies(comparison: Comparison, transcripts: Sequence[Transcript]) -> None:
    for transcript in transcripts:
        if not any(exchange.reply.text.strip() for exchange in transcript.exchanges):
            raise JudgeError(
                f"{comparison.criterion} cannot compare scenario {comparison.scenario_id!r}: one of the systems said "
                "nothing.",
                "Look at the systems' replies; an empty conversation cannot be compared.",
            )
