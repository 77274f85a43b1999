import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.errors import JudgeError
from ratiba_action.metrics.judging.cache import CachedScore, JudgeCache
from ratiba_action.metrics.judging.cache_key import deepeval_cache_key, join_prompt_versions, metric_version
from ratiba_action.metrics.judging.run_metric import RunMetric
from ratiba_action.metrics.judging.voting_rule import VotingRule
from ratiba_action.model.canonical import transcript_digest
from ratiba_action.model.measurement import Case, Score
from tests.support.cases import case, exchange

KEY = deepeval_cache_key("spa_booking", "booking@1", "judge-1", "swahili_fluency:1.0.0+deepeval-4.3.1")


class CountingMetric:
    """A judged metric that counts how often it is asked."""

    name = "SwahiliFluencyMetric"
    judged = True

    def __init__(self, version: str = "1.0.0+deepeval-4.3.1", failure: Exception | None = None) -> None:
        self.version = version
        self.asked = 0
        self._failure = failure

    def evidence(self, case: Case) -> str:
        return transcript_digest(case.transcript)

    async def measure(self, case: Case, threshold: float) -> Score:
        assert case.scenario.id
        self.asked += 1
        if self._failure:
            raise self._failure
        return Score(self.name, self.version, 0.9, threshold, judged=True, reason="good")


def _case(reply: str = "Karibu", prompts: tuple[str, ...] = ("booking@1",)) -> Case:
    return case(exchange("Habari", reply), prompt_versions=prompts)


def _cache(directory: Path) -> tuple[JudgeCache, list[str]]:
    warnings: list[str] = []
    return JudgeCache(directory, warnings.append), warnings


async def _measure(directory: Path, one: Case, metric: CountingMetric, model: str = "judge-1") -> Score:
    return await RunMetric(lambda _: metric, cache=_cache(directory)[0], judge_model=model).measure(one, 0.8)


async def test_the_second_run_takes_the_score_from_the_cache_and_says_so(tmp_path: Path) -> None:
    metric = CountingMetric()
    fresh = await _measure(tmp_path, _case(), metric)
    kept = await _measure(tmp_path, _case(), metric)
    assert (fresh.cached, kept.cached, metric.asked) == (False, True, 1)
    assert (kept.value, kept.reason) == (0.9, "good")
    assert (tmp_path / f"{KEY}.json").is_file()


async def test_the_same_key_with_another_conversation_is_judged_anew(tmp_path: Path) -> None:
    metric = CountingMetric()
    await _measure(tmp_path, _case("Karibu"), metric)
    again = await _measure(tmp_path, _case("Hatuna nafasi"), metric)
    assert (again.cached, metric.asked) == (False, 2)


async def test_a_new_prompt_judge_or_release_of_the_metric_is_judged_anew(tmp_path: Path) -> None:
    metric, released = CountingMetric(), CountingMetric("1.0.0+deepeval-4.4.0")
    await _measure(tmp_path, _case(), metric)
    await _measure(tmp_path, _case(prompts=("booking@2",)), metric)
    await _measure(tmp_path, _case(), metric, model="judge-2")
    await _measure(tmp_path, _case(), released)
    assert (metric.asked, released.asked) == (3, 1)


async def test_the_threshold_is_not_part_of_the_key(tmp_path: Path) -> None:
    metric = CountingMetric()
    await _measure(tmp_path, _case(), metric)
    strict = await RunMetric(lambda _: metric, cache=_cache(tmp_path)[0], judge_model="judge-1").measure(_case(), 0.95)
    assert (strict.cached, strict.threshold, strict.passed) == (True, 0.95, False)


async def test_a_repeat_of_a_scenario_neither_reads_nor_fills_the_cache(tmp_path: Path) -> None:
    metric = CountingMetric()
    repeat = replace(_case(), trial=1)
    await _measure(tmp_path, repeat, metric)
    await _measure(tmp_path, _case(), metric)
    again = await _measure(tmp_path, repeat, metric)
    assert (again.cached, metric.asked) == (False, 3)


async def test_each_use_of_a_kept_score_is_reported(tmp_path: Path) -> None:
    hits: list[str] = []
    metric = CountingMetric()
    for _ in range(3):
        cached = RunMetric(
            lambda _: metric,
            cache=_cache(tmp_path)[0],
            judge_model="judge-1",
            on_hit=lambda *_: hits.append("hit"),
        )
        await cached.measure(_case(), 0.8)
    assert (len(hits), metric.asked) == (2, 1)


async def test_a_run_sees_the_cache_as_it_was_when_it_began(tmp_path: Path) -> None:
    metric, began = CountingMetric(), time.time_ns()
    for _ in range(2):  # the second is the same run, gone on with
        cache = JudgeCache(tmp_path, pytest.fail, began)
        assert not (await RunMetric(lambda _: metric, cache=cache, judge_model="judge-1").measure(_case(), 0.8)).cached
    later = JudgeCache(tmp_path, pytest.fail, time.time_ns() + 1)
    assert (await RunMetric(lambda _: metric, cache=later, judge_model="judge-1").measure(_case(), 0.8)).cached
    assert metric.asked == 2


async def test_votes_are_kept_with_their_median(tmp_path: Path) -> None:
    cache, _ = _cache(tmp_path)
    cache.put(KEY, "t", CachedScore(0.8, "good", (0.8, 0.7, 0.9)))
    assert cache.get(KEY, "t") == CachedScore(0.8, "good", (0.8, 0.7, 0.9))


@pytest.mark.parametrize(("threshold", "measured"), [(0.8, 1), (0.88, 4)])
async def test_a_kept_score_that_needs_votes_at_todays_threshold_is_measured_anew(
    tmp_path: Path, threshold: float, measured: int
) -> None:
    metric, rule = CountingMetric(), VotingRule()
    for each in (0.8, threshold):
        await RunMetric(lambda _: metric, rule, cache=_cache(tmp_path)[0], judge_model="judge-1").measure(_case(), each)
    assert metric.asked == measured


async def test_a_kept_median_is_used_although_it_is_near_the_threshold(tmp_path: Path) -> None:
    cache, _ = _cache(tmp_path)
    votes = (0.9, 0.8, 1.0)
    transcript = transcript_digest(_case().transcript)
    cache.put(KEY, transcript, CachedScore(0.9, "good", votes))
    metric = CountingMetric()
    score = await RunMetric(lambda _: metric, VotingRule(), cache=cache, judge_model="judge-1").measure(_case(), 0.9)
    assert (score.cached, score.votes, metric.asked) == (True, votes, 0)


async def test_an_error_is_never_kept(tmp_path: Path) -> None:
    with pytest.raises(JudgeError):
        await _measure(tmp_path, _case(), CountingMetric(failure=JudgeError("out of range")))
    assert os.listdir(tmp_path) == []  # noqa: PTH208 — the test is a coroutine


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "[" * 5000,
     '{"value": 0.9}',
     '{"value": 0.9, "reason": "x", "transcript": "t", "votes": []}',
     '{"value": 7, "reason": "x", "transcript": "t", "votes": [], "written": 1}',
     '{"value": NaN, "reason": "x", "transcript": "t", "votes": [], "written": 1}',
     '{"value": true, "reason": "x", "transcript": "t", "votes": [], "written": 1}',
     '{"value": 0.9, "reason": 1, "transcript": "t", "votes": [], "written": 1}',
     '{"value": 0.9, "reason": "x", "transcript": "t", "votes": [2], "written": 1}',
     '{"value": 0.9, "reason": "x", "transcript": "t", "votes": 3, "written": 1}',
     '{"value": 0.9, "reason": "x", "transcript": "t", "votes": [], "written": "today"}'],
    ids=range(14),
)  # fmt: skip
def test_a_corrupt_entry_is_ignored_with_a_warning(tmp_path: Path, text: str) -> None:
    warnings: list[str] = []
    cache = JudgeCache(tmp_path, warnings.append, began=2)
    (tmp_path / f"{KEY}.json").write_text(text)
    assert cache.get(KEY, "t") is None
    assert len(warnings) == 1
    assert KEY in warnings[0]


def test_an_entry_that_is_not_text_is_ignored_with_a_warning(tmp_path: Path) -> None:
    cache, warnings = _cache(tmp_path)
    (tmp_path / f"{KEY}.json").write_bytes(b"\xff\xfe\x00")
    assert cache.get(KEY, "t") is None
    assert len(warnings) == 1


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache, warnings = _cache(tmp_path / "file")
    cache.put(KEY, "t", CachedScore(0.9, "good"))
    assert len(warnings) == 1


def test_writers_at_once_leave_one_whole_entry_and_nothing_else(tmp_path: Path) -> None:
    cache, warnings = _cache(tmp_path)
    writers = [
        threading.Thread(target=cache.put, args=(KEY, "t", CachedScore(number / 10, "r" * 10_000)))
        for number in range(8)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    kept = cache.get(KEY, "t")
    assert kept is not None
    assert kept.reason == "r" * 10_000
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([".gitignore", f"{KEY}.json"])
    assert warnings == []


def test_clearing_forgets_every_score_and_may_be_done_twice(tmp_path: Path) -> None:
    cache, _ = _cache(tmp_path / "cache")
    cache.put(KEY, "t", CachedScore(0.9, "good"))
    cache.clear()
    cache.clear()
    assert cache.get(KEY, "t") is None


def test_the_key_joins_prompts_in_sorted_order_and_names_deepevals_release() -> None:
    one = replace(_case(prompts=("intent@2", "booking@1")).transcript)
    assert join_prompt_versions(one.prompt_versions) == "booking@1,intent@2"
    assert metric_version("SwahiliFluencyMetric", "1.0.0+deepeval-4.3.1") == "swahili_fluency:1.0.0+deepeval-4.3.1"
