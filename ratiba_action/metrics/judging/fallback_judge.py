"""Recorded answers as long as they fit, a model where none does."""

from collections.abc import Collection

from ratiba_action.errors import RecordingError
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.ports import Judge


class FallbackJudge:
    """Implements ``Judge``.

    Args:
        recorded: raises ``RecordingError`` when no recorded answer fits.
        live: asked then; the same model.
        never_live: scenarios that run only because all their answers are recorded.
    """

    def __init__(self, recorded: Judge, live: Judge, never_live: Collection[str] = ()) -> None:
        self._recorded = recorded
        self._live = live
        self._never_live = never_live

    @property
    def model(self) -> str:
        """Identifier of the model."""
        return self._live.model

    async def answer(self, question: Question) -> Answer:
        """The recorded answer to exactly this question, or a live one.

        Raises:
            RecordingError: no recorded answer fits, and no model is to be called for the scenario.
            JudgeError: the answer is outside the contract.
            BudgetError: the call was refused.
            ProviderError: the provider refused or could not be reached.
        """
        try:
            return await self._recorded.answer(question)
        except RecordingError:
            if question.scenario_id in self._never_live:
                raise
            return await self._live.answer(question)
