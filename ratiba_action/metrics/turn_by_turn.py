"""DeepEval's metrics of a single turn, put to each turn of a conversation."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

from ratiba_action.metrics.judging.deepeval_metric import DeepEvalSpec, measure
from ratiba_action.metrics.judging.judged_identity import JudgedIdentity, judged_identity
from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.metrics.whole_conversation import ShownTurn, TurnPart, shown_digest, shown_turns
from ratiba_action.model.measurement import Case, Question, Score
from ratiba_action.ports import Judge
from ratiba_action.util.validation import StrictModel


class _TurnsMetric(ABC):
    """The mean over the turns that can be measured; a subclass says what a turn is worth."""

    name: str
    judged = True
    parts: frozenset[TurnPart]
    remedy: ClassVar[str]
    _identity: JudgedIdentity
    _judge: Judge

    @property
    def version(self) -> str:
        """Of steps, formula and parameters, with DeepEval's release where it is DeepEval's."""
        return self._identity.version

    @property
    @abstractmethod
    def maximum(self) -> int:
        """How many questions a turn takes at most."""

    @abstractmethod
    async def value(self, turn: ShownTurn, first: Question) -> TurnValue | None:
        """What a turn is worth; None when there is nothing in it to measure.

        Args:
            first: identity of its first question; later ones count the ordinal up.
        """

    def shown(self, case: Case) -> tuple[ShownTurn, ...]:
        """The turns that have what the metric shows."""
        return shown_turns(case, self.parts)

    def evidence(self, case: Case) -> str:
        """SHA-256 of what is shown of the turns."""
        return shown_digest(self.shown(case))

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case.

        Raises:
            ConfigurationError: no turn can be measured.
        """
        question = case.question(self._identity.asks, self.evidence(case))
        calls = (self.value(turn, _of_turn(turn, question, self.maximum)) for turn in self.shown(case))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)  # no question is left running
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        values = [outcome for outcome in outcomes if isinstance(outcome, TurnValue)]
        return replace(mean_of_turns(self.name, self.version, threshold, values, self.remedy), judged=True)


class OwnTurnsMetric(_TurnsMetric):
    """Implements ``JudgedMetric`` by questions of our own.

    A subclass says what it shows, how many questions one turn takes at most, and what a turn is worth.
    """

    revision: ClassVar[str]

    def __init__(self, judge: Judge) -> None:
        self._identity = judged_identity(self.name, self.revision, by_deepeval=False)
        self._judge = judge


__version__ = "1.0.0"


class TurnByTurnMetric(_TurnsMetric):
    """Implements ``JudgedMetric`` by one of DeepEval's.

    A subclass says which of DeepEval's metrics it is, what it shows, and what to do when no turn can be measured.

    Args:
        parameters: what the scenario gives the metric; None where it takes none.
    """

    spec: ClassVar[DeepEvalSpec]
    remedy: ClassVar[str] = "Let the system reply in words."

    def __init__(self, judge: Judge, parameters: StrictModel | None = None) -> None:
        self._identity = judged_identity(self.name, __version__, parameters)
        self._asked = replace(self.spec, options={**self.spec.options, **self.options(parameters)})
        self._judge = judge

    @property
    def maximum(self) -> int:
        """As DeepEval's metric asks."""
        return self._asked.maximum

    @staticmethod
    def options(parameters: StrictModel | None) -> dict[str, object]:
        """Keywords of DeepEval's constructor; those of the parameters that were given."""
        return parameters.model_dump(exclude_none=True) if parameters is not None else {}

    async def value(self, turn: ShownTurn, first: Question) -> TurnValue:
        """DeepEval's score of the turn."""
        measured = await measure(self._asked, turn.shown, self._judge, first)
        return TurnValue(turn.number, measured.value, measured.reason)


def _of_turn(turn: ShownTurn, first: Question, maximum: int) -> Question:
    """A turn's first question: each turn has a range of ordinals of its own, whoever is answered first."""
    return replace(first, ordinal=first.ordinal + (turn.number - 1) * maximum)
