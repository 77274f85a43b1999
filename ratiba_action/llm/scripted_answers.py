"""Answers from a script, and the recordings that they make: how recordings are written by hand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ratiba_action.errors import RecordingError
from ratiba_action.llm.anthropic_message import anthropic_message
from ratiba_action.llm.openai_message import chat_completion, response
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.request_inputs import request_inputs
from ratiba_action.llm.script import Step, estimated_usage
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Usage
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.values import JsonObject

_BUILDERS: Mapping[tuple[str, str], Callable[[Step, str, str, Usage], JsonObject]] = {
    ("anthropic", "messages"): anthropic_message,
    ("openai", "chat/completions"): chat_completion,
    ("openai", "responses"): response,
}


class ScriptedAnswers:
    """The steps of each scenario, answered in order to whatever is asked. Nothing is spent, nothing is booked.

    Args:
        scripts: the steps of each scenario.
        source: what the recordings give as their source.
    """

    def __init__(self, scripts: Mapping[str, Sequence[Step]], source: str = "authored") -> None:
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
                asked=request.asked,
                system=request.system,
                response=answer.body,
                usage_estimated=steps[len(self.recordings(request.scenario_id))].usage is None,
                inputs=request_inputs(request),
            )
        )
        return replace(answer, replayed=False)


def scripted_answer(steps: Sequence[Step], request: ModelRequest) -> ModelAnswer:
    """The step in the place of a call, as its endpoint answers.

    Raises:
        RecordingError: the script is at its end, the step is another provider's, or the endpoint is not scripted.
    """
    where = f"call {request.position + 1} of scenario {request.scenario_id!r}"
    if request.position >= len(steps):
        raise RecordingError(f"The script has no answer to {where}: it has {len(steps)} steps.", "Add a step.")
    step = steps[request.position]
    if step.provider not in {None, request.provider}:
        raise RecordingError(
            f"The script answers {where} for {step.provider!r}, and {request.provider!r} was asked.",
            "Give the step the provider that the system asks.",
        )
    builder = _BUILDERS.get((request.provider, request.endpoint))
    if builder is None:
        raise RecordingError(f"The endpoint {request.endpoint!r} cannot be scripted.", "Record it from the provider.")
    usage = step.usage or estimated_usage(step, dict(request.body))
    seed = digest([request.scenario_id, request.position, request.key])
    return ModelAnswer(builder(step, request.model, seed, usage), usage, replayed=True)
