"""Judges, and the paid calls behind them, with answers that a test writes down."""

from collections.abc import Sequence
from typing import Any

from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.answer import parse_answer
from ratiba_action.model.conversation import Usage
from ratiba_action.model.measurement import Answer, JudgeScore, Question
from ratiba_action.model.model_request import PaidAnswer, PaidRequest
from ratiba_action.model.values import JsonObject


class ScriptedJudge:
    """Implements ``Judge``: gives the written answers in turn and remembers what it was asked.

    Args:
        answers: each a raw answer as a model writes it, a ready grade or body (even one that breaks the contract, to
            test callers), or an exception to raise.
        model: what it calls itself.
    """

    def __init__(
        self, answers: Sequence[str | JudgeScore | JsonObject | Exception], model: str = "scripted-judge-1"
    ) -> None:
        self.asked: list[Question] = []
        self._answers = list(answers)
        self._model = model

    @property
    def model(self) -> str:
        """The name given at construction."""
        return self._model

    async def answer(self, question: Question) -> Answer:
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
        if isinstance(answer, str):
            return parse_answer(answer, question)
        return graded(answer) if isinstance(answer, JudgeScore) else Answer(answer)


def graded(grade: JudgeScore) -> Answer:
    """A grade as a judge answers it."""
    return Answer({"score": grade.score, "reason": grade.reason}, grade.replayed)


class ObligingJudge:
    """Implements ``Judge``: answers every question with the least that fits its schema, and a good grade.

    Args:
        model: what it calls itself.
    """

    def __init__(self, model: str = "scripted-judge-1") -> None:
        self.asked: list[Question] = []
        self._model = model

    @property
    def model(self) -> str:
        """The name given at construction."""
        return self._model

    async def answer(self, question: Question) -> Answer:
        """Lists hold one item, choices are the first, numbers as high as they may be."""
        self.asked.append(question)
        return graded(JudgeScore(0.8, "clear")) if question.schema is None else Answer(smallest_answer(question.schema))


def smallest_answer(schema: JsonObject) -> Any:
    """The least value that fits a schema."""
    if "anyOf" in schema:
        return smallest_answer(schema["anyOf"][0])
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: smallest_answer(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        return [smallest_answer(schema["items"])] * max(1, schema.get("minItems", 1))
    plain: dict[str, Any] = {"string": "clear", "boolean": True, "integer": 0, "null": None}
    return schema.get("maximum", 1) if schema["type"] == "number" else plain[schema["type"]]


class ScriptedPaidCalls:
    """Implements ``PaidCalls``: answers each attempt as it is written and remembers what was sent.

    Args:
        answers: each the text that the model writes, a whole body as it comes over the wire, or an exception.
        usage: tokens of each answer.
    """

    def __init__(self, answers: Sequence[str | JsonObject | Exception], usage: Usage = Usage(1_200, 90)) -> None:  # noqa: B008 — frozen
        self.sent: list[PaidRequest] = []
        self._answers = list(answers)
        self._usage = usage

    async def call(self, request: PaidRequest) -> PaidAnswer:
        """The next answer, in the provider's shape.

        Raises:
            JudgeError: all answers are used up.
        """
        self.sent.append(request)
        if not self._answers:
            raise JudgeError(f"No answer is left for {request.model!r}.", "Script one more.")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        body = whole_answer(request.provider, answer) if isinstance(answer, str) else answer
        return PaidAnswer(body, self._usage)


def whole_answer(provider: str, text: str) -> JsonObject:
    """A finished answer with this text, as the provider sends it."""
    if provider == "anthropic":
        return {"type": "message", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    message = {"role": "assistant", "content": text, "refusal": None}
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
