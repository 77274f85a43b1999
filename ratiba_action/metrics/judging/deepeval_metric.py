"""One of DeepEval's own metrics, by name, put to one case of ours."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.deepeval_bridge import load_deepeval
from ratiba_action.metrics.judging.deepeval_model import JudgeCalls, deepeval_model, our_own
from ratiba_action.model.conversation import ToolCall
from ratiba_action.model.measurement import Question
from ratiba_action.ports import Judge
from ratiba_action.util.text import quoted

_TestCase = TypeVar("_TestCase")
_REMEDY = "Run the scenario again; if it repeats, use another judge model."


@dataclass(frozen=True, slots=True)
class DeepEvalSpec:
    """How a metric of DeepEval is run.

    Args:
        name: its class in ``deepeval.metrics``.
        maximum: the most judge calls that it makes for one test case.
        options: keywords of its constructor besides the model.
        items: attribute with what it asks a verdict for, one each, under ``verdicts``; empty where that is not so.
        verdict_per_document: it asks for one verdict for each document.
        grades: it asks for a score of 0 to 10, as G-Eval does.
    """

    name: str
    maximum: int
    options: Mapping[str, Any] = field(default_factory=dict)
    items: str = ""
    verdict_per_document: bool = False
    grades: bool = False


@dataclass(frozen=True, slots=True)
class SingleTurn:
    """What is shown of one turn; empty for what the metric does not read."""

    asked: str = ""
    reply: str = ""
    documents: Sequence[str] = ()
    reference: str = ""
    tools: Sequence[ToolCall] = ()


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str
    tools: Sequence[ToolCall] = ()


@dataclass(frozen=True, slots=True)
class JudgedConversation:
    """What is shown of a whole conversation.

    Args:
        chatbot_role: who the assistant has to be, ours; empty where the metric does not read it.
    """

    messages: Sequence[ConversationMessage]
    chatbot_role: str = ""


@dataclass(frozen=True, slots=True)
class JudgedValue:
    """A value from 0 to 1 and the judge's reasons for it; untrusted text."""

    value: float
    reason: str


async def measure(
    spec: DeepEvalSpec, shown: SingleTurn | JudgedConversation, judge: Judge, first: Question
) -> JudgedValue:
    """Run a metric of DeepEval on one test case with our judge.

    Every text of the conversation is handed over as a quoted string, because most of DeepEval's forms put it in as it
    is. A fresh metric is made for each call: DeepEval's keep their last result on themselves.

    Raises:
        JudgeError: an answer is outside the contract, the value is not from 0 to 1, or verdicts are missing.
        RecordingError: replaying, and no recording fits.
        BudgetError: a call was refused.
    """
    deepeval = load_deepeval()
    calls = JudgeCalls(judge, first, spec.maximum)
    with warnings.catch_warnings():
        # That 1 is good, which it is here; DeepEval says so for users of its older releases.
        warnings.simplefilter("ignore", DeprecationWarning)
        metric = getattr(deepeval.metrics, spec.name)(
            model=deepeval_model(calls, scores=spec.grades), **_options(spec.options)
        )
    test_case = _single_turn(shown) if isinstance(shown, SingleTurn) else _conversation(shown)
    try:
        await metric.a_measure(test_case, _show_indicator=False)
    except Exception as error:
        raise our_own(error) from error
    _require_verdicts(spec, metric, shown, first)
    value = math.nan if metric.score is None else float(metric.score)
    if not 0 <= value <= 1:  # NaN fails both comparisons
        raise JudgeError(f"{first.metric} came to {value!r} for scenario {first.scenario_id!r}.", _REMEDY)
    reason = str(metric.reason or "") if spec.grades else calls.reason
    return JudgedValue(round(value, 6), reason or "The judge found nothing to object to.")


def as_text(test_case: _TestCase) -> _TestCase:
    """The test case, with nothing in it taken for the place of a picture, whatever was said."""
    marked: Any = test_case
    marked.multimodal = False
    return test_case


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    from deepeval.test_case import SingleTurnParams
    from deepeval.test_case import ToolCall as DeepEvalTool

    given = dict(options)
    if "evaluation_params" in given:
        given["evaluation_params"] = [SingleTurnParams[name] for name in given["evaluation_params"]]
    if "available_tools" in given:
        given["available_tools"] = [DeepEvalTool(**tool) for tool in given["available_tools"]]
    return given


def _single_turn(shown: SingleTurn) -> Any:
    from deepeval.test_case import LLMTestCase

    documents: list[Any] = [quoted(text) for text in shown.documents]
    return as_text(
        LLMTestCase(
            input=quoted(shown.asked),
            actual_output=quoted(shown.reply),
            expected_output=quoted(shown.reference) if shown.reference else None,
            retrieval_context=documents or None,
            tools_called=_tools(shown.tools),
        )
    )


def _conversation(shown: JudgedConversation) -> Any:
    from deepeval.test_case import ConversationalTestCase, Turn

    turns = [
        Turn(role=message.role, content=quoted(message.text), tools_called=_tools(message.tools) or None)
        for message in shown.messages
    ]
    return as_text(ConversationalTestCase(turns=turns, chatbot_role=shown.chatbot_role or None))


def _tools(calls: Sequence[ToolCall]) -> list[Any]:
    from deepeval.test_case import ToolCall as DeepEvalTool

    return [DeepEvalTool(name=call.name, input_parameters=dict(call.args), output=call.output) for call in calls]


def _require_verdicts(spec: DeepEvalSpec, metric: Any, shown: SingleTurn | JudgedConversation, first: Question) -> None:
    """Each item has its verdict: DeepEval takes the mean over those that are there, and that of none for 1."""
    if spec.verdict_per_document and isinstance(shown, SingleTurn):
        items, kind = len(shown.documents), "documents"
    elif spec.items:
        items, kind = len(getattr(metric, spec.items)), spec.items
    else:
        return
    if items != len(metric.verdicts):
        raise JudgeError(
            f"The judge gave {len(metric.verdicts)} verdicts on {items} {kind} for {first.metric} of scenario "
            f"{first.scenario_id!r}.",
            _REMEDY,
        )
