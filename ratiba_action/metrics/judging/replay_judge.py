"""A judge that answers from recordings."""

from collections.abc import Mapping

from ratiba_action.errors import RecordingError
from ratiba_action.metrics.judging.answer import validated
from ratiba_action.model.canonical import digest
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.values import JsonObject

_FLUENCY = ("english_fluency", "swahili_fluency")
"""Metrics that the language of a scenario adds."""


def judge_recording_key(metric: str, model: str, transcript: str, ordinal: int) -> str:
    """Key of a judge line: SHA-256 of the canonical JSON of what identifies the question, without its wording.

    Args:
        metric: ``name:version`` of the metric.
        model: the judge's model.
        transcript: digest of what the metric shows of the case.
        ordinal: number of the question within the metric, from 0.
    """
    return digest({"metric": metric, "model": model, "transcript": transcript, "ordinal": ordinal})


class ReplayJudge:
    """Implements ``Judge`` from recorded answers.

    Args:
        model: identifier of the model whose answers are replayed.
        recorded: the body of each answer by ``judge_recording_key``.
    """

    def __init__(self, model: str, recorded: Mapping[str, JsonObject]) -> None:
        self._model = model
        self._recorded = recorded

    @property
    def model(self) -> str:
        """Identifier of the replayed model."""
        return self._model

    async def answer(self, question: Question) -> Answer:
        """The recorded answer to exactly this question.

        Raises:
            RecordingError: there is none; says how to record it.
            JudgeError: the recorded answer is outside the contract.
        """
        key = judge_recording_key(question.metric, self._model, question.transcript, question.ordinal)
        body = self._recorded.get(key)
        if body is None:
            raise RecordingError(
                f"No recorded score of {question.metric} by {self._model!r} for scenario {question.scenario_id!r}: "
                "it was never judged, or the conversation changed since.",
                _remedy(question),
            )
        return validated(Answer(body, replayed=True), question)


def _remedy(question: Question) -> str:
    added_by_language = question.metric.partition(":")[0] in _FLUENCY
    without = "set metrics: {fluency: false} in .github/ratiba.yml" if added_by_language else "leave the metric out"
    return f"With a judge's key, run ratiba record --scenario {question.scenario_id} --accept; without one, {without}."
