"""DeepEval asks, our Judge answers: a model for DeepEval's metrics that hands every question to the Judge port."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ratiba_action.errors import JudgeError, RatibaError
from ratiba_action.metrics.judging.strict_schema import loosened, one_line, strict_schema
from ratiba_action.metrics.judging.valid_answer import grade, validated
from ratiba_action.model.measurement import Question
from ratiba_action.ports import Judge

_MOST_REASONS = 3


class Asked:
    """What a metric asked its judge, and what reasons it was given.

    Args:
        judge: answers.
        first: identity of the first question; later ones count its ordinal up, in the order in which DeepEval asks.
        most: how many questions may be asked at most.
    """

    def __init__(self, judge: Judge, first: Question, most: int) -> None:
        self._judge = judge
        self._first = first
        self._most = most
        self._numbers = itertools.count()
        self._reasons: dict[int, list[str]] = {}

    @property
    def model(self) -> str:
        """Identifier of the judge's model."""
        return self._judge.model

    @property
    def reason(self) -> str:
        """The judge's reasons in the order of its questions, the first few."""
        found = [text for number in sorted(self._reasons) for text in self._reasons[number]]
        more = f"; and {len(found) - _MOST_REASONS} more" if len(found) > _MOST_REASONS else ""
        return "; ".join(found[:_MOST_REASONS]) + more

    async def grade(self, prompt: str) -> dict[str, Any]:
        """A grade on DeepEval's scale of 0 to 10."""
        _, question = self._next(prompt)
        given = await self._guarded(grade(self._judge, question), question)
        return {"score": given.score * 10, "reason": given.reason}

    async def answer(self, prompt: str, shape: dict[str, Any]) -> dict[str, Any]:
        """An answer of a shape that DeepEval describes as JSON Schema."""
        number, asked = self._next(prompt)
        question = replace(asked, schema=strict_schema(shape))
        answer = validated(await self._guarded(self._judge.answer(question), question), question)
        body: dict[str, Any] = loosened(one_line(answer.body), shape)
        self._reasons[number] = [text for text in _reasons(body) if text]
        return body

    def _next(self, prompt: str) -> tuple[int, Question]:
        number = next(self._numbers)
        if number >= self._most:
            raise JudgeError(
                f"{self._first.metric} asks more than {self._most} questions about scenario "
                f"{self._first.scenario_id!r}, so what it costs cannot be foretold.",
                "Split the conversation, or let the system show fewer documents.",
            )
        return number, replace(self._first, ordinal=self._first.ordinal + number, prompt=prompt)

    async def _guarded(self, answer: Any, question: Question) -> Any:
        try:
            return await answer
        except (TypeError, AttributeError) as error:
            # DeepEval repeats a call up to four times after these two, unseen by any ledger.
            raise JudgeError(
                f"The judge broke on {question.metric} for scenario {question.scenario_id!r}: {error}"
            ) from error


def deepeval_model(asked: Asked, *, grades: bool) -> Any:
    """A DeepEval model of the judge.

    Args:
        asked: answers each prompt.
        grades: the metric asks for grades, as G-Eval does; else for answers of shapes of its own.
    """
    from deepeval.models import DeepEvalBaseLLM  # noqa: PLC0415 — see load_deepeval

    class JudgeModel(DeepEvalBaseLLM):  # type: ignore[no-untyped-call] # DeepEval's base is not fully typed
        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return asked.model

        def generate(self, *_: Any, **__: Any) -> str:
            raise JudgeError("DeepEval asked the judge synchronously, which the gate does not support.")

        async def a_generate(self, *args: Any, schema: Any = None, **_: Any) -> Any:
            if grades:
                answer = await asked.grade(str(args[0]))
                return schema(**answer) if schema is not None else answer
            shape = schema.model_json_schema() if schema is not None else {}
            if set(shape.get("properties", ())) <= {"reason"}:
                # It only sums up the reasons that were given before, for money.
                return schema(reason=asked.reason) if schema is not None else asked.reason
            return schema(**await asked.answer(str(args[0]), shape))

        async def a_generate_with_schema(self, *args: Any, schema: Any = None, **_: Any) -> Any:
            return await self.a_generate(*args, schema=schema)

    return JudgeModel(asked.model)


def our_own(error: Exception) -> Exception:
    """The gate's error behind one of DeepEval's, which wraps those whose words sound like a full context window."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, RatibaError):
        cause = cause.__cause__
    return cause or error


def _reasons(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            if name == "reason" and isinstance(part, str):
                yield part
            else:
                yield from _reasons(part)
    elif isinstance(value, list):
        for part in value:
            yield from _reasons(part)
