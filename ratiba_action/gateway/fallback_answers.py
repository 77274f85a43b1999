"""Recordings as long as they fit, models from there on."""

from ratiba_action.core.model_request import ModelAnswer, ModelRequest
from ratiba_action.errors import RecordingError
from ratiba_action.ports import AnswerSource


class FallbackAnswers:
    """Implements ``AnswerSource``: what is recorded is replayed; a trial that has left its recordings stays live.

    Args:
        recorded: raises ``RecordingError`` when no recording fits.
        live: asked then.
    """

    def __init__(self, recorded: AnswerSource, live: AnswerSource) -> None:
        self._recorded = recorded
        self._live = live
        self._went_live: set[tuple[str, int]] = set()

    @property
    def went_live(self) -> frozenset[tuple[str, int]]:
        """Scenario and trial of every conversation that left its recordings."""
        return frozenset(self._went_live)

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The recorded answer, or a live one.

        A conversation that went on differently after a live answer could meet a recording by chance; so it is not
        asked for again.
        """
        trial = (request.scenario_id, request.trial)
        if trial not in self._went_live:
            try:
                return await self._recorded.answer(request)
            except RecordingError:
                self._went_live.add(trial)
        return await self._live.answer(request)
