"""What every metric does, deterministic, judged or cached."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ratiba_action.metrics.judging.cache import JudgeCache
from ratiba_action.metrics.judging.run_metric import RunMetric
from ratiba_action.metrics.registry import is_judged, judge_calls, load_judged_metric, load_metric, metric_names
from ratiba_action.ports import Metric
from tests.support.judges import ObligingJudge
from tests.support.metric_samples import PARAMETERS, full_case

pytestmark = pytest.mark.usefixtures("quiet_deepeval")


def _plain(name: str) -> Callable[[Path], Metric]:
    return lambda _: load_metric(name, ObligingJudge(), PARAMETERS.get(name))


def _cached(name: str) -> Callable[[Path], Metric]:
    def make(folder: Path) -> Metric:
        metric = load_judged_metric(name, ObligingJudge(), PARAMETERS.get(name))
        return RunMetric(lambda _: metric, cache=JudgeCache(folder, print), judge_model="judge-1")

    return make


METRICS: Mapping[str, Callable[[Path], Metric]] = {
    **{name: _plain(name) for name in metric_names()},
    **{f"{name}, cached": _cached(name) for name in metric_names() if is_judged(name)},
}

every = pytest.mark.parametrize("make", METRICS.values(), ids=METRICS.keys())


@every
async def test_a_score_is_between_zero_and_one_and_names_its_metric(
    make: Callable[[Path], Metric], tmp_path: Path
) -> None:
    metric = make(tmp_path)
    score = await metric.measure(full_case(), 0.8)
    assert 0 <= score.value <= 1
    assert (score.metric, score.version, score.judged) == (metric.name, metric.version, metric.judged)


@every
async def test_the_threshold_is_kept_and_does_not_change_the_value(
    make: Callable[[Path], Metric], tmp_path: Path
) -> None:
    metric = make(tmp_path)
    lax, strict = await metric.measure(full_case(), 0.1), await metric.measure(full_case(), 1.0)
    assert (lax.threshold, strict.threshold) == (0.1, 1.0)
    assert lax.value == strict.value


@every
async def test_a_score_says_why_and_a_judged_one_lists_no_invariants(
    make: Callable[[Path], Metric], tmp_path: Path
) -> None:
    score = await make(tmp_path).measure(full_case(), 0.8)
    assert score.reason
    assert not (score.judged and score.invariants)


@pytest.mark.parametrize("name", [name for name in metric_names() if is_judged(name)])
async def test_a_judged_metric_asks_no_more_than_its_table_says_and_each_question_once(name: str) -> None:
    judge = ObligingJudge()
    await load_judged_metric(name, judge, PARAMETERS.get(name)).measure(full_case(), 0.8)
    ordinals = [question.ordinal for question in judge.asked]
    assert 0 < len(ordinals) <= judge_calls(name, 1)
    assert ordinals == sorted(set(ordinals))
