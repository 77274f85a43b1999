"""DeepEval's metrics and those built on its base classes, with the gate's judge as their model.

DeepEval comes from the user's interpreter. It is imported only in a process that measures.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import sys
import tempfile
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..lookup import AdapterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..judge import WorkerJudge

_QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
    "DEEPEVAL_DISABLE_TIMEOUTS": "1",
    "CONFIDENT_OPEN_BROWSER": "0",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
}
_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def version() -> str | None:
    """Version of DeepEval; None where nothing has imported it."""
    if "deepeval.metrics" not in sys.modules:
        return None
    from importlib import metadata  # slow, and DeepEval has imported it

    return metadata.version("deepeval")


def quieten() -> None:
    """Keep DeepEval off the network and out of the copy, which is read-only."""
    home = os.path.join(tempfile.gettempdir(), "deepeval")  # noqa: PTH118 - the environment holds strings
    os.environ.update(_QUIET, DEEPEVAL_HOME=home, DEEPEVAL_CACHE_FOLDER=home)
    for name in ("CONFIDENT_API_KEY", "DEEPEVAL_MODE", "DEEPEVAL_EVAL_MODE"):
        os.environ.pop(name, None)


def load() -> None:
    """Import DeepEval where the interpreter has it, without its side effects."""
    quieten()
    with contextlib.suppress(ImportError):
        importlib.import_module("deepeval.metrics")


def prepare(judge: WorkerJudge, *, needed: bool) -> None:
    """Import DeepEval for a metric that may need it, before the metric's own module is imported.

    Args:
        judge: answers every metric of DeepEval that is made from now on.
        needed: the metric is DeepEval's own.

    Raises:
        AdapterError: it is needed and not installed.
    """
    quieten()
    if judge.allowed or needed:
        load()
    if needed and "deepeval.metrics" not in sys.modules:
        command = f"{sys.executable} -m pip install deepeval"
        raise AdapterError(f"DeepEval is not installed for the system's interpreter. Run: {command}")
    adopt(judge)


def adopt(judge: WorkerJudge) -> None:
    """Let the gate's judge be the model of DeepEval's metrics, whatever model they name."""
    if "deepeval.metrics" not in sys.modules:
        return
    model = _model(judge)

    def initialize_model(*_: Any, **__: Any) -> tuple[Any, bool]:
        return model, False

    for name, module in list(sys.modules.items()):
        if name.startswith("deepeval.") and "initialize_model" in vars(module):
            vars(module)["initialize_model"] = initialize_model


def _model(judge: WorkerJudge) -> Any:
    from deepeval.models import DeepEvalBaseLLM  # the user's, and only where it is there

    class GateJudge(DeepEvalBaseLLM):  # type: ignore[no-untyped-call] # DeepEval's base is not fully typed
        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return "gate-judge"

        def generate(self, prompt: Any, schema: Any = None, **_: Any) -> Any:
            if schema is None:
                return judge.score(str(prompt), _TEXT)["text"]
            return schema(**judge.score(str(prompt), schema.model_json_schema()))

        async def a_generate(self, prompt: Any, schema: Any = None, **_: Any) -> Any:
            return self.generate(prompt, schema)

        def generate_with_schema(self, *args: Any, schema: Any = None, **_: Any) -> Any:
            return self.generate(args[0], schema)

        async def a_generate_with_schema(self, *args: Any, schema: Any = None, **_: Any) -> Any:
            return self.generate(args[0], schema)

    return GateJudge("gate-judge")


def is_metric(found: Any) -> bool:
    """Whether something is a metric of DeepEval, or a class of such metrics."""
    if "deepeval.metrics" not in sys.modules:
        return False
    from deepeval.metrics import BaseConversationalMetric, BaseMetric  # the user's

    bases = (BaseMetric, BaseConversationalMetric)
    return issubclass(found, bases) if isinstance(found, type) else isinstance(found, bases)


def measure(found: Any, evidence: dict[str, Any]) -> dict[str, Any]:
    """The metric's value of the conversation: of a single-turn metric the mean over the turns that have a reply.

    Raises:
        AdapterError: the parameters are not the metric's, no turn has a reply, or there is no score.
    """
    from deepeval.metrics import BaseConversationalMetric  # the user's

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        make = _maker(found, evidence["parameters"])
        if isinstance(make(), BaseConversationalMetric):
            return _one(make(), _conversation(evidence))
        cases = [_test_case(turn) for turn in evidence["turns"] if (turn["reply"]["text"] or "").strip()]
        if not cases:
            raise AdapterError("no turn has a reply, so there is nothing to measure")
        measured = [_one(make(), case) for case in cases]
    lowest = min(measured, key=lambda one: one["value"])
    # Exact, as every mean of the gate is: 0.1, 0.2 and 0.3 have the mean 0.2.
    total = sum(Fraction(str(one["value"])) for one in measured)
    return {"value": float(total / len(measured)), "reason": lowest["reason"]}


def _maker(found: Any, parameters: dict[str, Any]) -> Callable[[], Any]:
    if not isinstance(found, type):
        if parameters:
            raise AdapterError(f"{type(found).__name__} is made already, so `with` must go: {', '.join(parameters)}")
        return lambda: found
    given = _arguments(found, parameters)
    known = inspect.signature(found).parameters
    if "model" in known:
        # Its own way to a model, such as self.model.generate(), has the judge too.
        given["model"] = importlib.import_module("deepeval.metrics.utils").initialize_model()[0]
    if "async_mode" in known:
        given.setdefault("async_mode", False)
    return lambda: found(**given)


def _arguments(kind: type, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters with DeepEval's own types where its constructors take them."""
    from deepeval import test_case  # the user's
    from deepeval.metrics import BaseConversationalMetric

    several = issubclass(kind, BaseConversationalMetric)
    given = dict(parameters)
    if "evaluation_params" in given:
        names = "ToolCallParams" if kind.__name__ == "ToolCorrectnessMetric" else "SingleTurnParams"
        choices = getattr(test_case, "MultiTurnParams" if several else names)
        given["evaluation_params"] = [choices(name) for name in given["evaluation_params"]]
    if "available_tools" in given:
        given["available_tools"] = [test_case.ToolCall(**tool) for tool in given["available_tools"]]
    if "rubric" in given:
        rubric = importlib.import_module("deepeval.metrics.g_eval").Rubric
        given["rubric"] = [
            rubric(score_range=tuple(line["score_range"]), expected_outcome=line["expected_outcome"])
            for line in given["rubric"]
        ]
    if isinstance(given.get("dag"), dict):
        graph = importlib.import_module("deepeval.metrics.dag").DeepAcyclicGraph
        given["dag"] = graph.from_dict(given["dag"], multiturn=several)
    return given


def _one(metric: Any, test_case: Any) -> dict[str, Any]:
    import asyncio  # slow, and DeepEval has imported it

    try:
        asyncio.run(_measured(metric, test_case))
    except NotImplementedError:
        metric.measure(test_case, **_quiet(metric.measure))
    if isinstance(metric.score, bool) or not isinstance(metric.score, (int, float)):
        raise AdapterError(f"{type(metric).__name__} has no score: {str(getattr(metric, 'error', None))[:200]}")
    return {"value": float(metric.score), "reason": str(getattr(metric, "reason", None) or "")}


async def _measured(metric: Any, test_case: Any) -> None:
    await metric.a_measure(test_case, **_quiet(metric.a_measure))


def _quiet(method: Callable[..., Any]) -> dict[str, Any]:
    return {"_show_indicator": False} if "_show_indicator" in inspect.signature(method).parameters else {}


def _test_case(turn: dict[str, Any]) -> Any:
    from deepeval.test_case import LLMTestCase, ToolCall  # the user's

    documents = [document["text"] for document in turn["reply"]["documents"]] or None
    expected = turn["expect"]["tools"]
    return LLMTestCase(
        input=turn["user"] or json.dumps(turn["event"]),
        actual_output=turn["reply"]["text"],
        expected_output=turn["expect"]["answer"],
        context=documents,
        retrieval_context=documents,
        tools_called=_tools(turn),
        expected_tools=[ToolCall(name=tool["name"], input_parameters=tool["args"]) for tool in expected or []],
    )


def _conversation(evidence: dict[str, Any]) -> Any:
    from deepeval.test_case import ConversationalTestCase, Turn  # the user's

    turns: list[Any] = []
    for turn in evidence["turns"]:
        if (turn["user"] or "").strip():
            turns.append(Turn(role="user", content=turn["user"]))
        if (turn["reply"]["text"] or "").strip():
            turns.append(Turn(role="assistant", content=turn["reply"]["text"], tools_called=_tools(turn) or None))
    return ConversationalTestCase(turns=turns)


def _tools(turn: dict[str, Any]) -> list[Any]:
    from deepeval.test_case import ToolCall  # the user's

    calls = turn["reply"]["tool_calls"]
    return [ToolCall(name=call["name"], input_parameters=call["args"], output=call["output"]) for call in calls]
