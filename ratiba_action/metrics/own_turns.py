"""What our own judged metrics of single turns share: identity, evidence, and the mean over the turns."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

from ratiba_action.metrics.judged_identity import judged_identity
from ratiba_action.metrics.shown_turns import Part, ShownTurn, shown_digest, shown_turns
from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.measurement import Case, Question, Score
from ratiba_action.ports import Judge


class OwnTurnsMetric(ABC):
    """Implements ``JudgedMetric``: the mean over the turns that can be measured.

    A subclass says what it shows, how many questions one turn takes at most, and what a turn is worth.

    Args:
        judge: who answers.
    """

    name: str
    revision: ClassVar[str]
    judged = True
    parts: ClassVar[frozenset[Part]]
    most: ClassVar[int]
    remedy: ClassVar[str]

    def __init__(self, judge: Judge) -> None:
        self._identity = judged_identity(self.name, self.revision, by_deepeval=False)
        self._judge = judge

    @property
    def version(self) -> str:
        """Of steps and formula."""
        return self._identity.version

    def shown(self, case: Case) -> tuple[ShownTurn, ...]:
        """The turns that have what the metric shows."""
        return shown_turns(case, self.parts)

    def evidence(self, case: Case) -> str:
        """SHA-256 of what is shown of the turns."""
        return shown_digest(self.shown(case))

    @abstractmethod
    async def value(self, turn: ShownTurn, first: Question) -> TurnValue | None:
        """What a turn is worth; None when there is nothing in it to measure.

        Args:
            turn: what is shown of it.
            first: identity of its first question; later ones count the ordinal up.
        """

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case.

        Raises:
            ConfigurationError: no turn can be measured.
            JudgeError: the judge answered outside its contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        question = Question(case.scenario.id, self._identity.asks, self.evidence(case), 0, "", case.trial, case.arm)
        # Each turn has a range of ordinals of its own, whoever is answered first.
        asked = (
            self.value(turn, replace(question, ordinal=(turn.number - 1) * self.most)) for turn in self.shown(case)
        )
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        values = [outcome for outcome in outcomes if isinstance(outcome, TurnValue)]
        return replace(mean_of_turns(self.name, self.version, threshold, values, self.remedy), judged=True)
