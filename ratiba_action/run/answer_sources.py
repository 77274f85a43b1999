"""Who answers the system under test on each arm: recordings, models, or models where no recording fits."""

from typing import TYPE_CHECKING

from ratiba_action.llm.recordings.folder import model_recordings
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.plan import BASE, HEAD, Trial
from ratiba_action.ports import AnswerSource, Prices
from ratiba_action.run.paid_run import PaidRun
from ratiba_action.run.paying import recording_remedy
from ratiba_action.run.workshop import Materials, Workshop

if TYPE_CHECKING:
    from ratiba_action.llm.fallback_answers import FallbackAnswers
    from ratiba_action.llm.recording_answers import RecordingAnswers


class Sources:
    """The answers of a run, each arm's from its own recordings.

    Args:
        paid: the way to live models; None when every answer is replayed.
    """

    def __init__(self, workshop: Workshop, prices: Prices, paid: PaidRun | None) -> None:
        from ratiba_action.llm.arm_answers import ArmAnswers  # noqa: PLC0415 - not needed to decide

        self._workshop, self._prices, self._paid = workshop, prices, paid
        self._answers = ArmAnswers()
        self._fallback: FallbackAnswers | None = None
        self._free: frozenset[str] = frozenset()
        self._recorded: dict[str, dict[str, frozenset[int]]] = {}
        self.recording: RecordingAnswers | None = None

    @property
    def answers(self) -> AnswerSource:
        """Answers every arm that was added."""
        return self._answers

    def add(self, materials: Materials) -> None:
        """Answer the conversations of an arm."""
        self._answers.add(materials.arm.name, self._source(materials))
        self._free |= frozenset(materials.free)
        lines = model_recordings(materials.recordings)
        self._recorded[materials.arm.name] = {name: frozenset(one.trial for one in lines[name]) for name in lines}

    def ask_models(self, trial: Trial) -> bool:
        """Whether a trial is expected to cost money."""
        if self._workshop.llm != "auto" or self._fallback is None:
            return True
        name = trial.scenario.id
        if name in self._free:
            return False
        left = any(scenario_id == name for scenario_id, _ in self._fallback.went_live)
        return left or trial.number not in self._recorded[trial.arm.name].get(name, frozenset())

    def _source(self, materials: Materials) -> AnswerSource:
        from ratiba_action.llm.fallback_answers import FallbackAnswers  # noqa: PLC0415 - not needed to decide
        from ratiba_action.llm.live_answers import LiveAnswers  # noqa: PLC0415 - the same
        from ratiba_action.llm.recording_answers import RecordingAnswers  # noqa: PLC0415 - the same
        from ratiba_action.llm.replay_answers import RecordingAdvice, ReplayAnswers  # noqa: PLC0415 - the same

        variant = "" if materials.arm.name in {HEAD, BASE} else materials.arm.name

        def remedy(request: ModelRequest, lead: str) -> str:
            environment = self._workshop.environment
            return recording_remedy(environment, request.provider, request.scenario_id, lead, variant)

        advice = RecordingAdvice(materials.edited_prompts, remedy)
        lines = model_recordings(materials.recordings)
        replay = ReplayAnswers(lines, self._workshop.ledger, self._prices, advice)
        if self._paid is None:
            return replay
        live = LiveAnswers(self._paid.calls)
        if self._workshop.llm == "auto":
            source = FallbackAnswers(replay, live, like=self._fallback, never_live=materials.free)
            self._fallback = self._fallback or source
            return source
        if self._workshop.llm == "record":
            self.recording = RecordingAnswers(live)
            return self.recording
        return live
