"""A judge of which is known afterwards whether a recording answered in its place."""

from ratiba_action.model.measurement import Answer, Question
from ratiba_action.ports import Judge


class WatchedJudge:
    """Implements ``Judge`` around another one, for one case.

    A recorded answer is neither cross-checked, which would cost money where nothing needs a model, nor kept in the
    judge cache, where a later live run would take it for a model's.

    Args:
        judge: who answers.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._replayed = False

    @property
    def model(self) -> str:
        """Identifier of the model behind it."""
        return self._judge.model

    @property
    def fresh(self) -> bool:
        """Whether no answer so far came from a recording."""
        return not self._replayed

    async def answer(self, question: Question) -> Answer:
        """The other judge's answer.

        Raises:
            JudgeError: the answer is outside the contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        answer = await self._judge.answer(question)
        self._replayed = self._replayed or answer.replayed
        return answer
