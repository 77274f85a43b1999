"""What every judge does, whether it replays, is scripted, or asks a model."""

from collections.abc import Callable, Mapping
from functools import partial

import pytest

from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.answer import JudgeModel, judge_score
from ratiba_action.metrics.judging.replay_judge import ReplayJudge, judge_recording_key
from ratiba_action.metrics.judging.run_metric import JudgeChain
from ratiba_action.metrics.judging.structured_calls import LiveJudge
from ratiba_action.model.measurement import JudgeScore, Question
from ratiba_action.ports import Judge
from tests.support.judges import ScriptedJudge, ScriptedPaidCalls

QUESTION = Question("spa_booking", "swahili_fluency:1.0.0", "ab" * 32, 0, "Grade this conversation.")


def _replaying(score: float, reason: str) -> Judge:
    key = judge_recording_key(QUESTION.metric, "judge-1", QUESTION.transcript, QUESTION.ordinal)
    return ReplayJudge("judge-1", {key: {"score": score, "reason": reason}})


def _scripted(score: float, reason: str) -> Judge:
    # A model's JSON, the scale of the prompt; `repr` spells NaN and the infinities as no JSON does.
    return ScriptedJudge([f'{{"score": {score * 10!r}, "reason": "{reason}"}}'], model="judge-1")


def _live(provider: str, score: float, reason: str) -> Judge:
    answer = f'{{"score": {score * 10!r}, "reason": "{reason}"}}'
    return LiveJudge(ScriptedPaidCalls([answer] * 2), JudgeModel(provider, "judge-1"))


def _of_a_run(score: float, reason: str) -> Judge:
    chain = JudgeChain("judge-1", lambda *_: None)
    chain.add(QUESTION.arm, live=_scripted(score, reason).answer)
    return chain


JUDGES: Mapping[str, Callable[[float, str], Judge]] = {
    "replaying": _replaying,
    "scripted": _scripted,
    "of a run": _of_a_run,
    "live, Anthropic": partial(_live, "anthropic"),
    "live, OpenAI": partial(_live, "openai"),
}

pytestmark = pytest.mark.parametrize("make", JUDGES.values(), ids=JUDGES.keys())


async def test_a_grade_is_between_zero_and_one_with_a_reason(make: Callable[[float, str], Judge]) -> None:
    given = await judge_score(make(0.5, "clear"), QUESTION)
    assert isinstance(given, JudgeScore)
    assert (given.score, given.reason) == (0.5, "clear")


def test_a_judge_names_its_model(make: Callable[[float, str], Judge]) -> None:
    assert make(0.5, "clear").model == "judge-1"


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan"), float("inf")])
async def test_an_answer_out_of_range_is_a_judge_error(make: Callable[[float, str], Judge], score: float) -> None:
    with pytest.raises(JudgeError):
        await judge_score(make(score, "clear"), QUESTION)


async def test_an_answer_without_a_reason_is_a_judge_error(make: Callable[[float, str], Judge]) -> None:
    with pytest.raises(JudgeError):
        await judge_score(make(0.5, " "), QUESTION)
