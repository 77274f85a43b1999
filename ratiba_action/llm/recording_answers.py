"""Remembers what models answer, as the lines of a recording."""

from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.request_inputs import request_inputs
from ratiba_action.model.conversation import Party
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.ports import AnswerSource


class RecordingAnswers:
    """Implements ``AnswerSource``: hands on another source's answers and keeps them.

    Args:
        answers: live ones.
    """

    def __init__(self, answers: AnswerSource) -> None:
        self._answers = answers
        self._kept: dict[tuple[str, int], dict[tuple[bool, int], ModelRecording]] = {}

    def recordings(self, scenario_id: str, trial: int = 0) -> tuple[ModelRecording, ...]:
        """The answers of one trial, in the order in which they were asked for, whichever came first."""
        kept = self._kept.get((scenario_id, trial), {})
        return tuple(kept[position] for position in sorted(kept))

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The other source's answer; a call that fails leaves no line."""
        answer = await self._answers.answer(request)
        self._kept.setdefault((request.scenario_id, request.trial), {})[_place(request)] = ModelRecording(
            key=request.key,
            ordinal=request.ordinal,
            source="live",
            provider=request.provider,
            model=request.model,
            asked=request.asked,
            system=request.system,
            response=answer.body,
            trial=request.trial,
            inputs=request_inputs(request),
        )
        return answer


def _place(request: ModelRequest) -> tuple[bool, int]:
    """Where a line stands: the system's calls in order, then those of the simulated customer, counted apart."""
    return request.party is Party.SIMULATOR, request.position
