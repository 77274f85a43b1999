"""Recordings as long as they fit, models from there on."""

from collections.abc import Collection

from ratiba_action.errors import RecordingError
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.ports import AnswerSource


class FallbackAnswers:
    """Implements ``AnswerSource``: what is recorded is replayed; a trial that has left its recordings stays live.

    Args:
        recorded: raises ``RecordingError`` when no recording fits.
        live: asked then.
        like: the other arm's answers: a scenario that left its recordings there is live here too, so that answers of
            the same kind are compared.
        never_live: scenarios that run only because all their answers are recorded.
    """

    def __init__(
        self,
        recorded: AnswerSource,
        live: AnswerSource,
        like: "FallbackAnswers | None" = None,
        never_live: Collection[str] = (),
    ) -> None:
        self._recorded = recorded
        self._live = live
        self._like = like
        self._never_live = never_live
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
        if request.scenario_id in self._never_live:
            return await self._recorded.answer(request)
        trial = (request.scenario_id, request.trial)
        if self._like is not None and any(name == request.scenario_id for name, _ in self._like.went_live):
            self._went_live.add(trial)
        if trial not in self._went_live:
            try:
                return await self._recorded.answer(request)
            except RecordingError:
                self._went_live.add(trial)
        return await self._live.answer(request)
