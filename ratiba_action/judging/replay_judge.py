"""A judge that answers from recordings."""

from collections.abc import Mapping

from ratiba_action.core.canonical import digest
from ratiba_action.core.model.measurement import Answer, Question
from ratiba_action.core.model.values import JsonObject
from ratiba_action.errors import RecordingError
from ratiba_action.judging.valid_answer import validated


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
                f"No recorded answer of {self._model!r} to {question.metric} for scenario {question.scenario_id!r}: "
                "it was never judged, or the conversation changed since.",
                "With a judge's key in RATIBA_ANTHROPIC_API_KEY or RATIBA_OPENAI_API_KEY, `ratiba record` asks for it; "
                "without one, leave the metric out: `metrics: {fluency: false}` in .github/ratiba.yml does so for the "
                "fluency that `language` adds.",
            )
        return validated(Answer(body, replayed=True), question)
