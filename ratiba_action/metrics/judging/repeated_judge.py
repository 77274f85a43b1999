"""A judge that is asked the same things again, as questions of their own."""

from dataclasses import replace

from ratiba_action.model.measurement import Answer, Question
from ratiba_action.ports import Judge


class RepeatedJudge:
    """Implements ``Judge`` around another one: the repeat's questions get ordinals that the first measurement had not.

    Args:
        judge: who answers.
        repeat: number of the measurement, from 0 for the first.
        questions: how many questions the metric asks a case.
    """

    def __init__(self, judge: Judge, repeat: int, questions: int = 1) -> None:
        self._judge = judge
        self._offset = repeat * questions

    @property
    def model(self) -> str:
        """Identifier of the model behind it."""
        return self._judge.model

    async def answer(self, question: Question) -> Answer:
        """The answer to the question under its own ordinal.

        Raises:
            JudgeError: the answer is outside the contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        return await self._judge.answer(replace(question, ordinal=question.ordinal + self._offset))
