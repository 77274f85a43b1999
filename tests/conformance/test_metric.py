"""What every metric does, deterministic, judged or cached."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ratiba_action.core.model.measurement import Case
from ratiba_action.judging.cache import JudgeCache
from ratiba_action.judging.cached_metric import CachedMetric
from ratiba_action.judging.deepeval_bridge import prepare_deepeval
from ratiba_action.metrics.registry import is_judged, load_metric, metric_names
from ratiba_action.ports import Metric
from ratiba_action.testing.cases import booking, case, create, exchange
from ratiba_action.testing.judges import ScriptedJudge

ANSWER = '{"score": 8, "reason": "clear"}'


def _plain(name: str) -> Callable[[Path], Metric]:
    return lambda _: load_metric(name, ScriptedJudge([ANSWER] * 2))


def _cached(name: str) -> Callable[[Path], Metric]:
    return lambda folder: CachedMetric(load_metric(name, ScriptedJudge([ANSWER])), JudgeCache(folder, print), "judge-1")


METRICS: Mapping[str, Callable[[Path], Metric]] = {
    **{name: _plain(name) for name in metric_names()},
    **{f"{name}, cached": _cached(name) for name in metric_names() if is_judged(name)},
}

pytestmark = pytest.mark.parametrize("make", METRICS.values(), ids=METRICS.keys())


@pytest.fixture(autouse=True, scope="module")
def quiet_deepeval(tmp_path_factory: pytest.TempPathFactory) -> None:
    # Not undone: DeepEval reads its opt-out again when the interpreter ends.
    prepare_deepeval(os.environ, tmp_path_factory.mktemp("deepeval"))


def _case() -> Case:
    turn = exchange("Naomba massage kesho saa nane mchana", "Imethibitishwa.", create("2026-04-26T14:00"))
    return case(turn, rows={"bookings": (booking("2026-04-26T14:00"),), "payments": (), "payment_callbacks": ()})


async def test_a_score_is_between_zero_and_one_and_names_its_metric(
    make: Callable[[Path], Metric], tmp_path: Path
) -> None:
    metric = make(tmp_path)
    score = await metric.measure(_case(), 0.8)
    assert 0 <= score.value <= 1
    assert (score.metric, score.version, score.judged) == (metric.name, metric.version, metric.judged)


async def test_the_threshold_is_kept_and_does_not_change_the_value(
    make: Callable[[Path], Metric], tmp_path: Path
) -> None:
    metric = make(tmp_path)
    lax, strict = await metric.measure(_case(), 0.1), await metric.measure(_case(), 1.0)
    assert (lax.threshold, strict.threshold) == (0.1, 1.0)
    assert lax.value == strict.value


async def test_a_deterministic_score_lists_what_applied_and_a_judged_one_gives_the_judges_reason(
    make: Callable[[Path], Metric], tmp_path: Path
) -> None:
    score = await make(tmp_path).measure(_case(), 0.8)
    assert bool(score.invariants) is not score.judged
    assert score.reason
