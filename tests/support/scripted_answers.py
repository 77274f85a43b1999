"""Answers from a script, and the recordings that they make: how recordings are written by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.request_inputs import request_inputs
from ratiba_action.llm.scripted_answers import Step, scripted_answer
from ratiba_action.model.answer_origin import RecordingSource
from ratiba_action.model.conversation import Usage
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.values import JsonObject


def scripted_body(request: ModelRequest, step: Step, usage: Usage) -> JsonObject:
    """What the request's endpoint answers for a step."""
    body = endpoint_named(request.endpoint).scripted(step.scripted(request.model, request.key, usage))
    assert body is not None
    return body


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
