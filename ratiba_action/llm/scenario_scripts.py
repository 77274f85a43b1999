"""Answers that scenarios themselves give, whatever else a run asks: nothing is paid and nothing is recorded."""

from collections.abc import Mapping, Sequence

from ratiba_action.llm.script import Step
from ratiba_action.llm.scripted_answers import scripted_answer
from ratiba_action.model.conversation import ToolCall
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import AnswerSource


class ScenarioScripts:
    """Implements ``AnswerSource``: a scripted scenario is answered from its script, every other one elsewhere.

    Args:
        scripts: the steps of each scripted scenario, by its id.
        otherwise: answers the other scenarios.
    """

    def __init__(self, scripts: Mapping[str, Sequence[Step]], otherwise: AnswerSource) -> None:
        self._scripts = {scenario_id: tuple(steps) for scenario_id, steps in scripts.items()}
        self._otherwise = otherwise

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The step in the place of this call in its trial, so that a trial that is held again starts anew.

        Raises:
            RecordingError: the script is at its end, the step is another provider's, or the endpoint is not scripted.
        """
        steps = self._scripts.get(request.scenario_id)
        if steps is None:
            return await self._otherwise.answer(request)
        return scripted_answer(steps, request)


def scripts_of(scenarios: Sequence[Scenario]) -> dict[str, tuple[Step, ...]]:
    """The steps of each scenario that has a script, by its id."""
    return {one.id: tuple(_step(step) for step in one.script) for one in scenarios if one.script is not None}


def _step(described: JsonObject) -> Step:
    calls = tuple(ToolCall(tool["name"], tool.get("args", {})) for tool in described.get("tools", ()))
    return Step(described.get("provider"), described.get("text") or "", described.get("data"), calls)
