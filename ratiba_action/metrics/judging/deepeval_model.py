"""A model for DeepEval's metrics that hands every question to the Judge port.

DeepEval's schemas are sent as both providers accept them, every object closed and every property required, and the
answers come back in DeepEval's shape.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ratiba_action.errors import JudgeError, RatibaError
from ratiba_action.metrics.judging.answer import judge_score, validated
from ratiba_action.model.measurement import Question
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import Judge
from ratiba_action.util.text import few

_NUMBER: JsonObject = {"type": "number", "minimum": 0, "maximum": 1}
"""Each number that DeepEval's metrics ask for beside G-Eval's is a share."""
_INDEX: JsonObject = {"type": "integer", "minimum": 0}


def strict_schema(shape: JsonObject) -> JsonObject:
    """The schema that a judge is held to.

    Args:
        shape: as pydantic describes a model of DeepEval's. A property that may be left out becomes one that may be
            null, a mapping becomes a list of its names and values.

    Raises:
        ValueError: the shape holds something else than DeepEval 4.3 uses.
    """
    closed = dict(_closed(shape, shape.get("$defs", {})))
    closed["title"] = str(shape.get("title", "answer"))
    return closed


def loosened(value: Any, shape: JsonObject) -> Any:
    """An answer to ``strict_schema(shape)`` as DeepEval's model takes it."""
    return _opened(value, shape, shape.get("$defs", {}))


def on_one_line(value: Any) -> Any:
    """The value with each text on one line: what a judge wrote is quoted in the next question."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return {name: on_one_line(part) for name, part in value.items()}
    return [on_one_line(part) for part in value] if isinstance(value, list) else value


def _closed(shape: JsonObject, named: JsonObject) -> JsonObject:
    if "$ref" in shape:
        return _closed(_referred(shape, named), named)
    if "anyOf" in shape:
        return {"anyOf": [_closed(option, named) for option in shape["anyOf"]]}
    if shape.get("type") == "array":
        return {"type": "array", "items": _closed(shape["items"], named)}
    if shape.get("type") == "object":
        return _closed_object(shape, named)
    return _simple(shape)


def _closed_object(shape: JsonObject, named: JsonObject) -> JsonObject:
    if "properties" in shape:
        parts = {name: _closed(part, named) for name, part in shape["properties"].items()}
        return {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
    pair = {"name": {"type": "string"}, "value": _closed(shape["additionalProperties"], named)}
    entry = {"type": "object", "properties": pair, "required": ["name", "value"], "additionalProperties": False}
    return {"type": "array", "items": entry}


def _simple(shape: JsonObject) -> JsonObject:
    kind = str(shape.get("type"))
    if "enum" in shape:
        return {"type": "string", "enum": list(shape["enum"])}
    if kind in {"string", "boolean", "null"}:
        return {"type": kind}
    try:
        return {"number": _NUMBER, "integer": _INDEX}[kind]
    except KeyError:
        raise ValueError(f"The shape {shape!r} cannot be asked for.") from None


def _opened(value: Any, shape: JsonObject, named: JsonObject) -> Any:
    if "$ref" in shape:
        return _opened(value, _referred(shape, named), named)
    if "anyOf" in shape:
        mapping = next((option for option in shape["anyOf"] if "additionalProperties" in option), None)
        return value if value is None or mapping is None else _opened(value, mapping, named)
    if isinstance(value, list) and "properties" not in shape and shape.get("type") == "object":
        return {entry["name"]: entry["value"] for entry in value}
    if isinstance(value, list):
        return [_opened(item, shape["items"], named) for item in value]
    if isinstance(value, Mapping):
        return {name: _opened(part, shape["properties"][name], named) for name, part in value.items()}
    return value


def _referred(shape: JsonObject, named: JsonObject) -> JsonObject:
    found: JsonObject = named[shape["$ref"].rpartition("/")[2]]
    return found


_MAX_REASONS = 3


class JudgeCalls:
    """What a metric asked its judge, and what reasons it was given.

    Args:
        first: identity of the first question; later ones count its ordinal up, in the order in which DeepEval asks.
        maximum: how many questions may be asked at most.
    """

    def __init__(self, judge: Judge, first: Question, maximum: int) -> None:
        self._judge = judge
        self._first = first
        self._maximum = maximum
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
        return few(found, _MAX_REASONS, "; ")

    async def judge_score(self, prompt: str) -> dict[str, Any]:
        """A score on DeepEval's scale of 0 to 10."""
        _, question = self._next(prompt)
        given = await self._guarded(judge_score(self._judge, question), question)
        return {"score": given.score * 10, "reason": given.reason}

    async def answer(self, prompt: str, shape: dict[str, Any]) -> dict[str, Any]:
        """An answer of a shape that DeepEval describes as JSON Schema."""
        number, unshaped = self._next(prompt)
        question = replace(unshaped, schema=strict_schema(shape))
        answer = validated(await self._guarded(self._judge.answer(question), question), question)
        body: dict[str, Any] = loosened(on_one_line(answer.body), shape)
        self._reasons[number] = [text for text in _reasons(body) if text]
        return body

    def _next(self, prompt: str) -> tuple[int, Question]:
        number = next(self._numbers)
        if number >= self._maximum:
            raise JudgeError(
                f"{self._first.metric} asks more than {self._maximum} questions about scenario "
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


def deepeval_model(calls: JudgeCalls, *, scores: bool) -> Any:
    """A DeepEval model of the judge.

    Args:
        scores: the metric asks for scores, as G-Eval does; else for answers of shapes of its own.
    """
    from deepeval.models import DeepEvalBaseLLM

    class DeepEvalJudge(DeepEvalBaseLLM):  # type: ignore[no-untyped-call] # DeepEval's base is not fully typed
        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return calls.model

        def generate(self, *_: Any, **__: Any) -> str:
            raise JudgeError("DeepEval asked the judge synchronously, which the gate does not support.")

        async def a_generate(self, *args: Any, schema: Any = None, **_: Any) -> Any:
            if scores:
                answer = await calls.judge_score(str(args[0]))
                return schema(**answer) if schema is not None else answer
            shape = schema.model_json_schema() if schema is not None else {}
            if set(shape.get("properties", ())) <= {"reason"}:
                # It only sums up the reasons that were given before, for money.
                return schema(reason=calls.reason) if schema is not None else calls.reason
            return schema(**await calls.answer(str(args[0]), shape))

        async def a_generate_with_schema(self, *args: Any, schema: Any = None, **_: Any) -> Any:
            return await self.a_generate(*args, schema=schema)

    return DeepEvalJudge(calls.model)


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
