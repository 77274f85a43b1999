"""A model that gives prepared answers in order, in memory."""

from collections.abc import Sequence

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from tests.support.scripted_answers import scripted_body


class AnswersInOrder:
    """Implements ``AnswerOrigin``: gives its texts in order, and remembers what was asked.

    Args:
        texts: one for each call.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = list(texts)
        self.asked: list[ModelRequest] = []

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The next text, as Anthropic's endpoint answers."""
        self.asked.append(request)
        step = Step("anthropic", text=self._texts.pop(0))
        usage = Usage(100, 10)
        return ModelAnswer(scripted_body(request, step, usage), usage, replayed=False)
