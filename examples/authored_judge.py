"""A judge whose answers were written by hand, and the lines of a recording that they make."""

from collections.abc import Mapping, Sequence
from typing import Any

from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.metrics.judging.answer import validated
from ratiba_action.metrics.judging.replay_judge import judge_recording_key
from ratiba_action.model.answer_origin import RecordingSource
from ratiba_action.model.measurement import Answer, Question

USAGE = {"input_tokens": 1_200, "output_tokens": 90}


class AuthoredJudge:
    """Implements ``Judge`` for one metric of one scenario.

    Args:
        scenario_id: for messages.
        model: the judge whose answers they stand for.
        answers: by the ordinal of the question.
    """

    def __init__(self, scenario_id: str, model: str, answers: Sequence[Mapping[str, Any]]) -> None:
        self._scenario_id = scenario_id
        self.model = model
        self._answers = answers
        self._lines: dict[int, JudgeRecording] = {}

    async def answer(self, question: Question) -> Answer:
        """The answer in the question's place, checked as a live one."""
        if question.ordinal >= len(self._answers):
            raise SystemExit(f"{question.scenario_id}: {question.metric} has no answer {question.ordinal + 1}")
        body = dict(self._answers[question.ordinal])
        graded = question.schema is None
        self._lines[question.ordinal] = JudgeRecording(
            key=judge_recording_key(question.metric, self.model, question.transcript, question.ordinal),
            ordinal=question.ordinal,
            source=RecordingSource.AUTHORED,
            metric=question.metric,
            model=self.model,
            transcript=question.transcript,
            score=body["score"] if graded else None,
            reason=body["reason"] if graded else None,
            answer=None if graded else body,
            usage=USAGE,
        )
        return validated(Answer(body), question)

    def recordings(self) -> list[JudgeRecording]:
        """A line for each question, in their order; every answer has to be used."""
        if len(self._lines) != len(self._answers):
            left = len(self._answers) - len(self._lines)
            raise SystemExit(f"{self._scenario_id}: {left} authored answers of the judge were not asked for")
        return [self._lines[ordinal] for ordinal in sorted(self._lines)]
