"""Judges for tests: what they answer is written down beforehand."""

from collections.abc import Sequence

from ratiba_action.core.model.measurement import Grade, Question
from ratiba_action.errors import JudgeError
from ratiba_action.judging.answer import parse_answer


class ScriptedJudge:
    """Implements ``Judge``: gives the written answers in turn and remembers what it was asked.

    Args:
        answers: each a raw answer as a model writes it, a ready grade (even one that breaks the contract, to test
            callers), or an exception to raise.
        model: what it calls itself.
    """

    def __init__(self, answers: Sequence[str | Grade | Exception], model: str = "scripted-judge-1") -> None:
        self.asked: list[Question] = []
        self._answers = list(answers)
        self._model = model

    @property
    def model(self) -> str:
        """The name given at construction."""
        return self._model

    async def grade(self, question: Question) -> Grade:
        """The next answer.

        Raises:
            JudgeError: the answer is outside the contract, or all answers are used up.
        """
        self.asked.append(question)
        if not self._answers:
            raise JudgeError(f"The scripted judge has no answer left for {question.metric}.", "Script one more.")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return parse_answer(answer) if isinstance(answer, str) else answer
