"""Collects live answers of the judge for recordings, in an order that does not depend on timing."""

from collections import defaultdict

from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.metrics.judging.replay_judge import judge_recording_key
from ratiba_action.model.answer_origin import RecordingSource
from ratiba_action.model.measurement import Answer, Question


class ScoreCollector:
    """Collects the judge's answers of one run.

    Of several repeats of one question (another trial in which the same was said), the first trial's answer is kept: a
    recording holds one answer a question.

    Args:
        model: of the judge.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._kept: defaultdict[str, dict[str, tuple[int, JudgeRecording]]] = defaultdict(dict)

    def keep(self, question: Question, answer: Answer) -> None:
        """Keep one live answer."""
        usage, model = answer.usage, self._model
        key = judge_recording_key(question.metric, model, question.transcript, question.ordinal)
        lines = self._kept[question.scenario_id]
        if key in lines and lines[key][0] <= question.trial:
            return
        prompt_tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        line = JudgeRecording(
            key=key,
            ordinal=question.ordinal,
            source=RecordingSource.LIVE,
            metric=question.metric,
            model=model,
            transcript=question.transcript,
            score=None if question.schema else answer.body["score"],
            reason=None if question.schema else answer.body["reason"],
            answer=answer.body if question.schema else None,
            usage={"input_tokens": prompt_tokens, "output_tokens": usage.output_tokens},
        )
        lines[key] = (question.trial, line)

    def recordings(self) -> dict[str, tuple[JudgeRecording, ...]]:
        """The lines of each scenario, by its id, sorted by metric, model, transcript and ordinal."""
        return {
            scenario_id: tuple(sorted((line for _, line in lines.values()), key=_order))
            for scenario_id, lines in sorted(self._kept.items())
        }


def _order(line: JudgeRecording) -> tuple[str, str, str, int]:
    return line.metric, line.model, line.transcript, line.ordinal
