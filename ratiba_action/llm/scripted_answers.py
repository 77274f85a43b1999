"""Answers from a script instead of a model: the steps of a scenario whose model is mocked."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiba_action.errors import RecordingError
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.wire_format import Scripted
from ratiba_action.model.canonical import canonical_json, digest
from ratiba_action.model.conversation import Party, ToolCall, Usage
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.util.text import plural

_BYTES_A_TOKEN = 4
_DIGITS = 24
"""Of an id."""


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of a scripted model.

    Args:
        provider: a wire format or a name of ``providers``; a call to another one is an error. None answers any.
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

    def scripted(self, model: str, seed: str, usage: Usage) -> Scripted:
        """The answer for an endpoint to spell.

        Args:
            seed: makes the ids of two equal answers differ.
            usage: the tokens to report.
        """
        ids = (digest(seed)[:_DIGITS], *(digest([seed, number])[:_DIGITS] for number, _ in enumerate(self.tools)))
        return Scripted(self.spoken(), self.tools, model, ids, usage)


def estimated_usage(step: Step, request: Any) -> Usage:
    """Tokens of an answer that no model gave, at four bytes a token, rounded up."""
    answer = step.spoken() + "".join(canonical_json([call.name, dict(call.args)]) for call in step.tools)
    return Usage(input_tokens=_tokens(canonical_json(request)), output_tokens=_tokens(answer))


def _tokens(text: str) -> int:
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN))


def scripted_answer(steps: Sequence[Step], request: ModelRequest) -> ModelAnswer:
    """The step instead of a call, as its endpoint answers.

    Raises:
        RecordingError: the script is at its end, the step is another provider's, or the endpoint is not scripted.
    """
    place = f"call {request.position + 1} of scenario {request.scenario_id!r}"
    if request.position >= len(steps):
        problem = f"The script has no answer to {place}: it has {plural(len(steps), 'step')}."
        raise RecordingError(problem, "Add a step.")
    step, endpoint = steps[request.position], endpoint_named(request.endpoint)
    if step.provider not in {None, request.provider, endpoint.provider}:
        raise RecordingError(
            f"The script answers {place} for {step.provider!r}, and {request.provider!r} was asked.",
            "Give the step the provider that the system asks.",
        )
    usage = step.usage or estimated_usage(step, dict(request.body))
    seed = digest([request.scenario_id, request.position, request.key])
    body = endpoint.scripted(step.scripted(request.model, seed, usage))
    if body is None:
        raise RecordingError(f"The endpoint {request.endpoint!r} cannot be scripted.", "Record it from the provider.")
    return ModelAnswer(body, usage, replayed=True)


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
