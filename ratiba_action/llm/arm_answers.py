"""Answers of several arms: each is answered from its own recordings."""

from ratiba_action.errors import InfrastructureError
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.ports import AnswerSource


class ArmAnswers:
    """Implements ``AnswerSource``: hands each request to the source of its arm. No arm is answered from another's."""

    def __init__(self) -> None:
        self._sources: dict[str, AnswerSource] = {}

    def add(self, arm: str, source: AnswerSource) -> None:
        """Answer an arm's requests from now on.

        Args:
            arm: its name.
            source: of its answers.
        """
        self._sources[arm] = source

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The answer of the arm's own source.

        Raises:
            InfrastructureError: the arm has none.
        """
        source = self._sources.get(request.arm)
        if source is None:
            known = ", ".join(sorted(self._sources)) or "none"
            raise InfrastructureError(f"Nothing answers the arm {request.arm!r}, only: {known}.", "Start the arm.")
        return await source.answer(request)
