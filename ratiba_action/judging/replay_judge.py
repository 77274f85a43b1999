"""A judge that answers from recordings."""

from collections.abc import Mapping
from dataclasses import dataclass

from ratiba_action.core.canonical import digest
from ratiba_action.core.model.measurement import Grade, Question
from ratiba_action.errors import RecordingError
from ratiba_action.judging.valid_grade import validated


@dataclass(frozen=True, slots=True)
class RecordedGrade:
    """One judge line of a recording.

    Args:
        score: 0 to 1.
        reason: the judge's own words.
    """

    score: float
    reason: str


def judge_recording_key(metric: str, model: str, transcript: str, ordinal: int) -> str:
    """Key of a judge line: SHA-256 of the canonical JSON of what identifies the question, without its wording.

    Args:
        metric: ``name:version`` of the metric.
        model: the judge's model.
        transcript: ``transcript_digest`` of the conversation.
        ordinal: number of the question within the metric, from 0.
    """
    return digest({"metric": metric, "model": model, "transcript": transcript, "ordinal": ordinal})


class ReplayJudge:
    """Implements ``Judge`` from recorded grades.

    Args:
        model: identifier of the model whose answers are replayed.
        recorded: by ``judge_recording_key``.
    """

    def __init__(self, model: str, recorded: Mapping[str, RecordedGrade]) -> None:
        self._model = model
        self._recorded = recorded

    @property
    def model(self) -> str:
        """Identifier of the replayed model."""
        return self._model

    async def grade(self, question: Question) -> Grade:
        """The recorded grade of exactly this question.

        Raises:
            RecordingError: there is none; says how to record it.
            JudgeError: the recorded grade is out of range or has no reason.
        """
        key = judge_recording_key(question.metric, self._model, question.transcript, question.ordinal)
        line = self._recorded.get(key)
        if line is None:
            raise RecordingError(
                f"No recorded answer of {self._model!r} to {question.metric} for scenario {question.scenario_id!r}: "
                "it was never judged, or the conversation changed since.",
                "Record it again; docs/recordings.md says how.",
            )
        return validated(Grade(line.score, line.reason, replayed=True), question)
