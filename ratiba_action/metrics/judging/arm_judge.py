"""One judge of several arms: the grades of each are looked up in its own recordings."""

from ratiba_action.errors import RecordingError
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.ports import Judge


class ArmJudge:
    """Implements ``Judge``: hands each question to the judge of the arm that held the conversation.

    Args:
        arm: name of the first arm.
        judge: of its conversations; all arms have the same model.
    """

    def __init__(self, arm: str, judge: Judge) -> None:
        self._model = judge.model
        self._judges = {arm: judge}

    @property
    def model(self) -> str:
        """Identifier of the model behind all of them."""
        return self._model

    def add(self, arm: str, judge: Judge) -> None:
        """Let another arm's conversations be graded.

        Raises:
            ValueError: by another model.
        """
        if judge.model != self._model:
            raise ValueError(f"the arm {arm!r} would be judged by {judge.model!r}, the others by {self._model!r}")
        self._judges[arm] = judge

    async def answer(self, question: Question) -> Answer:
        """The answer of the arm's judge; see ``Judge.answer``.

        Raises:
            RecordingError: no judge has the arm's recordings.
        """
        judge = self._judges.get(question.arm)
        if judge is None:
            raise RecordingError(f"No judge was given for the arm {question.arm!r}.", "Start the arm.")
        return await judge.answer(question)
