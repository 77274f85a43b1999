"""Answers from a script, and the recordings that they make: how recordings are written by hand."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ratiba_action.errors import RecordingError
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.gemini_wire import GENERATE_CONTENT
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.request_inputs import request_inputs
from ratiba_action.model.answer_origin import RecordingSource
from ratiba_action.model.canonical import canonical_json, digest
from ratiba_action.model.conversation import Party, ToolCall, Usage
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject

_BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of a scripted model.

    Args:
        provider: ``anthropic``, ``openai``, ``gemini`` or a name of ``providers``; a call to another one is an error.
            None answers any.
        text: what it says.
        data: what it says, as a value that is sent as JSON; not together with ``text``.
        tools: the tools that it calls, in order.
        usage: the tokens to report; None estimates them from the length of the texts.
    """

    provider: str | None
    text: str = ""
    data: Any = None
    tools: tuple[ToolCall, ...] = ()
    usage: Usage | None = None

    def spoken(self) -> str:
        """The text of the answer, its data as JSON."""
        return self.text if self.data is None else json.dumps(self.data, ensure_ascii=False)


def estimated_usage(step: Step, request: Any) -> Usage:
    """Tokens of an answer that no model gave, at four bytes a token, rounded up.

    Args:
        step: the answer.
        request: the request's body.
    """
    answer = step.spoken() + "".join(canonical_json([call.name, dict(call.args)]) for call in step.tools)
    return Usage(input_tokens=_tokens(canonical_json(request)), output_tokens=_tokens(answer))


def _tokens(text: str) -> int:
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN))


_CREATED = 1_767_225_600
"""A fixed moment, 2026-01-01 UTC: an answer that is built twice is the same twice."""


def chat_completion(step: Step, model: str, seed: str, usage: Usage) -> JsonObject:
    """The whole body of a chat completion; see ``anthropic_message`` for the arguments."""
    calls = [
        {
            "id": f"call_{digest([seed, number])[:24]}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.args), ensure_ascii=False)},
        }
        for number, call in enumerate(step.tools)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": step.spoken() or None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    prompt_tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "id": f"chatcmpl-{digest(seed)[:24]}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": prompt_tokens + usage.output_tokens,
            "prompt_tokens_details": _cached(usage),
        },
    }


def response(step: Step, model: str, seed: str, usage: Usage) -> JsonObject:
    """The whole body of a response of the Responses endpoint."""
    text = step.spoken()
    output: list[JsonObject] = []
    if text:
        part = {"type": "output_text", "text": text, "annotations": []}
        ident = f"msg_{digest(seed)[:24]}"
        output.append({"id": ident, "type": "message", "role": "assistant", "status": "completed", "content": [part]})
    for number, call in enumerate(step.tools):
        output.append(
            {
                "id": f"fc_{digest([seed, number])[:24]}",
                "type": "function_call",
                "status": "completed",
                "call_id": f"call_{digest([seed, number])[:24]}",
                "name": call.name,
                "arguments": json.dumps(dict(call.args), ensure_ascii=False),
            }
        )
    input_tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "id": f"resp_{digest(seed)[:24]}",
        "object": "response",
        "created_at": _CREATED,
        "status": "completed",
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": _cached(usage),
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input_tokens + usage.output_tokens,
        },
    }


def _cached(usage: Usage) -> dict[str, int]:
    written = {"cache_write_tokens": usage.cache_write_tokens} if usage.cache_write_tokens else {}
    return {"cached_tokens": usage.cache_read_tokens, **written}


def anthropic_message(step: Step, model: str, seed: str, usage: Usage) -> JsonObject:
    """The whole body of an answer.

    Args:
        step: what the model says and which tools it calls.
        model: the model that answers.
        seed: makes the ids of two equal answers differ.
        usage: the tokens to report.
    """
    text = step.spoken()
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for number, call in enumerate(step.tools):
        ident = f"toolu_{digest([seed, number])[:24]}"
        content.append({"type": "tool_use", "id": ident, "name": call.name, "input": dict(call.args)})
    return {
        "id": f"msg_{digest(seed)[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if step.tools else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_creation_input_tokens": usage.cache_write_tokens,
            "cache_read_input_tokens": usage.cache_read_tokens,
        },
    }


def generated_content(step: Step, model: str, seed: str, usage: Usage) -> JsonObject:
    """The whole body of an answer in Gemini's format; see ``anthropic_message`` for the arguments."""
    text, prompt_tokens = step.spoken(), usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    parts: list[JsonObject] = [{"text": text}] if text else []
    for number, call in enumerate(step.tools):
        identity = f"call_{digest([seed, number])[:24]}"
        parts.append({"functionCall": {"id": identity, "name": call.name, "args": dict(call.args)}})
    counts = {"promptTokenCount": prompt_tokens, "candidatesTokenCount": usage.output_tokens}
    cached = {"cachedContentTokenCount": usage.cache_read_tokens} if usage.cache_read_tokens else {}
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {**counts, **cached, "totalTokenCount": prompt_tokens + usage.output_tokens},
        "modelVersion": model,
        "responseId": digest(seed)[:24],
    }


_BUILDERS: Mapping[str, Callable[[Step, str, str, Usage], JsonObject]] = {
    "messages": anthropic_message,
    "chat/completions": chat_completion,
    "responses": response,
    GENERATE_CONTENT: generated_content,
}


class ScriptedAnswers:
    """The steps of each scenario, answered in order to whatever is asked. Nothing is spent, nothing is booked.

    Args:
        scripts: the steps of each scenario.
        source: what the recordings give as their source.
    """

    def __init__(self, scripts: Mapping[str, Sequence[Step]], source: str = RecordingSource.AUTHORED) -> None:
        self._scripts = {scenario_id: tuple(steps) for scenario_id, steps in scripts.items()}
        self._source = source
        self._recordings: dict[str, list[ModelRecording]] = {}

    def recordings(self, scenario_id: str) -> tuple[ModelRecording, ...]:
        """The calls that a scenario made so far, as recordings in order."""
        return tuple(self._recordings.get(scenario_id, ()))

    def unused(self, scenario_id: str) -> int:
        """How many steps of a scenario were not asked for."""
        return len(self._scripts.get(scenario_id, ())) - len(self.recordings(scenario_id))

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The next step of the request's scenario.

        Raises:
            RecordingError: the script is at its end, the step is another provider's, or the endpoint is not scripted.
        """
        steps = self._scripts.get(request.scenario_id, ())
        answer = scripted_answer(steps, replace(request, position=len(self.recordings(request.scenario_id))))
        self._recordings.setdefault(request.scenario_id, []).append(
            ModelRecording(
                key=request.key,
                ordinal=request.ordinal,
                source=self._source,
                provider=request.provider,
                model=request.model,
                asked=request.last_message,
                system=request.system,
                response=answer.body,
                usage_estimated=steps[len(self.recordings(request.scenario_id))].usage is None,
                inputs=request_inputs(request),
            )
        )
        return replace(answer, replayed=False)


def scripted_answer(steps: Sequence[Step], request: ModelRequest) -> ModelAnswer:
    """The step instead of a call, as its endpoint answers.

    Raises:
        RecordingError: the script is at its end, the step is another provider's, or the endpoint is not scripted.
    """
    place = f"call {request.position + 1} of scenario {request.scenario_id!r}"
    if request.position >= len(steps):
        raise RecordingError(f"The script has no answer to {place}: it has {len(steps)} steps.", "Add a step.")
    step = steps[request.position]
    if step.provider not in {None, request.provider, endpoint_named(request.endpoint).provider}:
        raise RecordingError(
            f"The script answers {place} for {step.provider!r}, and {request.provider!r} was asked.",
            "Give the step the provider that the system asks.",
        )
    builder = _BUILDERS.get(request.endpoint)
    if builder is None:
        raise RecordingError(f"The endpoint {request.endpoint!r} cannot be scripted.", "Record it from the provider.")
    usage = step.usage or estimated_usage(step, dict(request.body))
    seed = digest([request.scenario_id, request.position, request.key])
    return ModelAnswer(builder(step, request.model, seed, usage), usage, replayed=True)


class ScenarioScripts:
    """Answers the scenarios whose model is mocked.

    Args:
        scripts: the steps of each scripted scenario, by its id.
    """

    def __init__(self, scripts: Mapping[str, Sequence[Step]]) -> None:
        self._scripts = {scenario_id: tuple(steps) for scenario_id, steps in scripts.items()}

    def source(self, request: ModelRequest) -> Callable[[ModelRequest], Awaitable[ModelAnswer]] | None:
        """What answers a request of the system; None where its scenario has no script."""
        return self.answer if request.party is Party.SYSTEM and request.scenario_id in self._scripts else None

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The step instead of this call in its trial, so that a trial that is run again starts anew.

        Raises:
            RecordingError: the script is at its end, the step is another provider's, or the endpoint is not scripted.
        """
        return scripted_answer(self._scripts[request.scenario_id], request)


def scripts_of(scenarios: Sequence[Scenario]) -> dict[str, tuple[Step, ...]]:
    """The steps of each scenario that has a script, by its id."""
    return {
        scenario.id: tuple(_step(step) for step in scenario.script)
        for scenario in scenarios
        if scenario.script is not None
    }


def _step(described: JsonObject) -> Step:
    calls = tuple(ToolCall(tool["name"], tool.get("args", {})) for tool in described.get("tools", ()))
    return Step(described.get("provider"), described.get("text") or "", described.get("data"), calls)
