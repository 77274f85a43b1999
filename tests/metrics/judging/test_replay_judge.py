import math

import pytest

from ratiba_action.errors import JudgeError, RecordingError
from ratiba_action.metrics.judging.answer import judge_score
from ratiba_action.metrics.judging.replay_judge import ReplayJudge, judge_recording_key
from ratiba_action.model.measurement import JudgeScore, Question
from ratiba_action.model.values import JsonObject

QUESTION = Question("spa_booking", "swahili_fluency:1.0.0", "ab" * 32, 0, "any wording")


def _judge(line: JsonObject) -> ReplayJudge:
    key = judge_recording_key("swahili_fluency:1.0.0", "judge-1", "ab" * 32, 0)
    return ReplayJudge("judge-1", {key: line})


async def test_a_recorded_grade_is_found_whatever_the_wording_of_the_prompt() -> None:
    assert await judge_score(_judge({"score": 0.9, "reason": "good"}), QUESTION) == JudgeScore(
        0.9, "good", replayed=True
    )


@pytest.mark.parametrize(
    "other",
    [
        Question("spa_booking", "swahili_fluency:1.0.1", "ab" * 32, 0, ""),
        Question("spa_booking", "swahili_fluency:1.0.0", "cd" * 32, 0, ""),
        Question("spa_booking", "swahili_fluency:1.0.0", "ab" * 32, 1, ""),
    ],
)
async def test_another_metric_version_transcript_or_ordinal_has_no_recording(other: Question) -> None:
    with pytest.raises(RecordingError) as caught:
        await judge_score(_judge({"score": 0.9, "reason": "good"}), other)
    message = str(caught.value)
    assert other.metric in message
    assert "it was never judged, or the conversation changed since" in message
    assert "ratiba record --scenario spa_booking --accept" in message
    assert "metrics: {fluency: false}" in message


async def test_another_model_has_no_recording() -> None:
    key = judge_recording_key(QUESTION.metric, "judge-1", QUESTION.transcript, 0)
    with pytest.raises(RecordingError, match="judge-2"):
        await judge_score(ReplayJudge("judge-2", {key: {"score": 0.9, "reason": "good"}}), QUESTION)


@pytest.mark.parametrize("score", [9.0, -0.1, math.nan, math.inf])
async def test_a_recorded_score_out_of_range_is_an_error_not_a_score(score: float) -> None:
    with pytest.raises(JudgeError):
        await judge_score(_judge({"score": score, "reason": "good"}), QUESTION)


def test_the_recording_key_is_the_one_that_sha256sum_computes() -> None:
    # printf '%s' '{"metric":"swahili_fluency:1.0.0","model":"judge-1","ordinal":0,"transcript":"abc"}' | sha256sum
    assert judge_recording_key("swahili_fluency:1.0.0", "judge-1", "abc", 0) == (
        "32cc3a16d18baa5a4e8432f4b8453ff14ca13ba1d5dc1257d963d55701537a8c"
    )
