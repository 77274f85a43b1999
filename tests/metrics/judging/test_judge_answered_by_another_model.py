"""A judge's score counts only if the judge gave it: the model that answered is checked, kept and compared."""

from pathlib import Path

import pytest

from ratiba_action.errors import AnotherModelError, JudgeError
from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.llm.recordings.reader import parse_recordings
from ratiba_action.llm.recordings.writer import render_recordings
from ratiba_action.metrics.judging.answer import JudgeModel, judge_score
from ratiba_action.metrics.judging.cache import JudgeCache
from ratiba_action.metrics.judging.replay_judge import ReplayJudge, ScoreCollector, judge_recording_key
from ratiba_action.metrics.judging.run_metric import JudgeChain, RunMetric
from ratiba_action.metrics.judging.structured_calls import LiveJudge
from ratiba_action.model.conversation import Party
from ratiba_action.model.measurement import Case, Question, Score
from ratiba_action.model.plan import HEAD
from ratiba_action.ports import Judge
from tests.support.cases import case, exchange
from tests.support.judges import ScriptedPaidCalls, whole_answer

GOOD = '{"reason": "Reads well.", "score": 9}'
QUESTION = Question("spa_booking", "swahili_fluency:1.0.0", "ab" * 32, 0, "Grade this.")
ONE = case(exchange("Habari", "Karibu"), prompt_versions=("booking@1",))


def calls(model: str, times: int = 1) -> ScriptedPaidCalls:
    return ScriptedPaidCalls([{**whole_answer("anthropic", GOOD), "model": model}] * times)


def judge(paid: ScriptedPaidCalls) -> LiveJudge:
    return LiveJudge(paid, JudgeModel("anthropic", "claude-opus-5-5"), Party.JUDGE)


class AskingMetric:
    """A judged metric with one question."""

    name, version, judged = "SwahiliFluencyMetric", "1.0.0", True

    def __init__(self, asked: Judge) -> None:
        self._judge = asked

    def evidence(self, case: Case) -> str:
        """What is asked about."""
        return case.transcript.scenario_id.ljust(64, "0")

    async def measure(self, case: Case, threshold: float) -> Score:
        """The judge's score."""
        question = Question(case.scenario.id, QUESTION.metric, QUESTION.transcript, 0, "", case.trial, case.arm)
        graded = await judge_score(self._judge, question)
        return Score(self.name, self.version, graded.score, threshold, judged=True, reason=graded.reason)


def measured_by(paid: ScriptedPaidCalls, cache: JudgeCache | None = None) -> RunMetric:
    chain = JudgeChain("claude-opus-5-5", lambda *_: None)
    chain.add(HEAD, live=judge(paid).answer)
    metric = AskingMetric(chain)
    return RunMetric(lambda _: metric, cache=cache, judge_model="claude-opus-5-5", answered=chain.answered_by)


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-1-20250805", "gpt-5"])
async def test_the_answer_of_another_model_is_an_error_of_the_score_and_is_not_asked_for_again(model: str) -> None:
    paid = calls(model, times=2)
    with pytest.raises(AnotherModelError) as caught:
        await judge_score(judge(paid), QUESTION)
    assert len(paid.sent) == 1
    assert "'claude-opus-5-5'" in str(caught.value)
    assert f"'{model}'" in str(caught.value)


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-5-5-20260901", "team-judge", ""])
async def test_another_spelling_counts_and_is_kept_beside_the_score(model: str) -> None:
    score = await measured_by(calls(model)).measure(ONE, 0.8)
    assert score.value == 0.9
    assert score.answered_by == ((model,) if model not in ("", "claude-opus-5-5") else ())


async def test_a_recording_says_which_model_answered_only_where_that_is_another_name() -> None:
    lines: dict[str, bytes] = {}
    for model in ("claude-opus-5-5", "claude-opus-5-5-20260901"):
        collector = ScoreCollector("claude-opus-5-5")
        collector.keep(QUESTION, await judge(calls(model)).answer(QUESTION))
        lines[model] = render_recordings(collector.recordings()["spa_booking"])
    assert b"answered_by" not in lines["claude-opus-5-5"]
    (line,) = parse_recordings(lines["claude-opus-5-5-20260901"], "spa.jsonl")
    assert isinstance(line, JudgeRecording)
    assert line.answered_by == "claude-opus-5-5-20260901"


def test_a_line_that_an_earlier_version_wrote_stays_as_it_is_byte_by_byte() -> None:
    old = (
        b'{"key":"' + b"ab" * 32 + b'","kind":"judge","metric":"swahili_fluency:1.0.0","model":"claude-opus-5-5",'
        b'"ordinal":0,"reason":"good","score":0.9,"source":"live","transcript":"' + b"cd" * 32 + b'",'
        b'"usage":{"input_tokens":1,"output_tokens":2}}\n'
    )
    assert render_recordings(parse_recordings(old, "spa.jsonl")) == old


async def test_a_recorded_answer_of_another_model_is_no_score_of_the_judge() -> None:
    key = judge_recording_key(QUESTION.metric, "claude-opus-5-5", QUESTION.transcript, 0)
    body = {"score": 0.9, "reason": "good"}
    replayed = ReplayJudge("claude-opus-5-5", {key: body}, {key: "claude-opus-5-5-20260901"})
    assert (await replayed.answer(QUESTION)).answered_by == "claude-opus-5-5-20260901"
    with pytest.raises(JudgeError, match="'claude-haiku-4-5' answered"):
        await ReplayJudge("claude-opus-5-5", {key: body}, {key: "claude-haiku-4-5"}).answer(QUESTION)


def rename(folder: Path, model: str, other: str) -> None:
    """Let the one entry of a cache be of another model, as an earlier version kept it."""
    (entry,) = (path for path in folder.iterdir() if path.name != ".gitignore")
    entry.write_text(entry.read_text().replace(model, other))


async def test_a_kept_score_says_who_answered_and_one_of_another_model_is_not_used(tmp_path: Path) -> None:
    cache = JudgeCache(tmp_path, lambda _: None)
    await measured_by(calls("claude-opus-5-5-20260901"), cache).measure(ONE, 0.8)
    again = await measured_by(ScriptedPaidCalls([]), cache).measure(ONE, 0.8)
    assert (again.cached, again.answered_by) == (True, ("claude-opus-5-5-20260901",))
    rename(tmp_path, "claude-opus-5-5-20260901", "claude-haiku-4-5")
    anew = await measured_by(calls("claude-opus-5-5"), cache).measure(ONE, 0.8)
    assert not anew.cached
