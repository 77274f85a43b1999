"""Drift of production's scores: what is compared, what is not, and what is a finding."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.event import LoggedEvent
from ratiba_action.model.measurement import Score, Scored
from ratiba_action.production.drift import Drift, DriftRules, MetricDrift, Status, find_drift, read_samples
from tests.support.production_samples import NOW, sample_events, write_events
from tests.support.sample_report import sample_trial

RULES = DriftRules(until=NOW + timedelta(seconds=1), minimum=40, share=1)
METRIC = "SwahiliFluencyMetric"
GOOD = [0.9, 0.8, 1.0, 0.9, 0.7] * 10
BAD = [0.6, 0.5, 0.9, 0.7, 0.4] * 10


def drift(
    folder: Path, *runs: Sequence[LoggedEvent], rules: DriftRules = RULES, baseline: MeasuredRun | None = None
) -> Drift:
    return find_drift(read_samples([write_events(folder / "events.jsonl", *runs)]), baseline, rules)


def only(found: Drift, reference: str = "window before", metric: str = METRIC) -> MetricDrift:
    (entry,) = (entry for entry in found.metrics if (entry.reference, entry.metric) == (reference, metric))
    return entry


def golden(values: Sequence[float], judge: str = "claude-opus-5-5", metric: str = METRIC) -> MeasuredRun:
    results = tuple(
        Scored(
            sample_trial(f"s{number}"),
            Transcript(f"s{number}", ()),
            (),
            (Score(metric, "1.0.0", value, 0.8, judged=True),),
            0.0,
        )
        for number, value in enumerate(values)
    )
    return MeasuredRun(None, NOW, judge, AnswerOrigin.LIVE, results)


def test_a_fall_is_found_and_the_same_scores_are_not(tmp_path: Path) -> None:
    fell = only(drift(tmp_path, sample_events(GOOD, days_ago=8), sample_events(BAD, days_ago=1)))
    assert fell.status is Status.DRIFTED
    assert fell.delta is not None
    assert fell.delta.low is not None
    assert fell.delta.high is not None
    assert fell.delta.low < fell.delta.delta < fell.delta.high < 0
    same = only(drift(tmp_path, sample_events(GOOD, days_ago=8), sample_events(GOOD, days_ago=1)))
    assert (same.status, same.p) == (Status.NO_DRIFT, 1.0)


def test_the_golden_baseline_is_compared_too(tmp_path: Path) -> None:
    runs = sample_events(BAD, days_ago=8), sample_events(BAD, days_ago=1)
    found = drift(tmp_path, *runs, baseline=golden(GOOD))
    assert only(found, "baseline").status is Status.DRIFTED
    assert only(found).status is Status.NO_DRIFT
    assert found.findings == (only(found, "baseline"),)


def test_another_judge_or_version_begins_a_new_series(tmp_path: Path) -> None:
    before = sample_events(GOOD, days_ago=8)
    for run in (sample_events(BAD, days_ago=1, judge="gpt-5"), sample_events(BAD, days_ago=1, version="2.0.0")):
        found = drift(tmp_path, before, run, baseline=golden(GOOD))
        assert {entry.status for entry in found.metrics} == {Status.NEW_SERIES}
        assert not found.findings
        assert not found.compared


def test_a_judge_that_changed_within_the_window_is_not_mixed_with_the_one_before(tmp_path: Path) -> None:
    runs = [
        sample_events(GOOD, days_ago=8),
        sample_events(GOOD, days_ago=3),
        sample_events(BAD, days_ago=1, judge="gpt-5"),
    ]
    assert only(drift(tmp_path, *runs)).status is Status.NEW_SERIES


def test_a_metric_that_production_no_longer_has_is_a_finding(tmp_path: Path) -> None:
    other = [sample_events(GOOD, days_ago=days, metric="Other", names=f"o{days}-") for days in (8, 1)]
    found = drift(tmp_path, sample_events(GOOD, days_ago=8), *other)
    assert [(entry.metric, entry.status) for entry in found.findings] == [(METRIC, Status.LOST)]
    nearly = drift(tmp_path, sample_events(GOOD, days_ago=8), sample_events(GOOD[:3], days_ago=1), *other)
    assert only(nearly).status is Status.LOST


def test_a_metric_that_hardly_any_conversation_had_is_not_lost(tmp_path: Path) -> None:
    runs = [sample_events(GOOD, days_ago=days) for days in (8, 1)]
    rare = sample_events(GOOD[:39], days_ago=8, metric="Rare", names="r-")
    found = drift(tmp_path, *runs, rare)
    assert only(found, metric="Rare").status is Status.TOO_FEW
    assert not found.findings
    enough = sample_events(GOOD[:40], days_ago=8, metric="Rare", names="r-")
    assert only(drift(tmp_path, *runs, enough), metric="Rare").status is Status.LOST


def test_a_golden_metric_that_is_never_sampled_is_a_note(tmp_path: Path) -> None:
    runs = sample_events(GOOD, days_ago=8), sample_events(GOOD, days_ago=1)
    found = drift(tmp_path, *runs, baseline=golden(GOOD, metric="ReferenceMetric"))
    assert only(found, "baseline", "ReferenceMetric").status is Status.NOT_SAMPLED
    assert not found.findings
    assert found.compared


def test_too_few_conversations_are_said_with_the_minimum(tmp_path: Path) -> None:
    entry = only(drift(tmp_path, sample_events(GOOD[:30], days_ago=8), sample_events(BAD[:30], days_ago=1)))
    assert entry.status is Status.TOO_FEW
    assert entry.why == "30 of at least 40 now, 30 of at least 40 before"


def test_conversations_that_an_error_or_feedback_selected_are_left_out(tmp_path: Path) -> None:
    runs = sample_events(GOOD * 10, days_ago=8), sample_events(GOOD * 10, days_ago=1)
    found = drift(tmp_path, *runs, rules=replace(RULES, share=0.5))
    assert found.left_out + found.conversations + found.before == 1000
    assert 150 < found.conversations < 350


def test_a_conversation_that_two_runs_measured_counts_once_as_the_later_run_has_it(tmp_path: Path) -> None:
    runs = [sample_events(values, days_ago=days, names="c") for values, days in ((BAD, 2), (GOOD, 1))]
    entry = only(drift(tmp_path, sample_events(GOOD, days_ago=8), *runs))
    assert (entry.recent, entry.status) == (50, Status.NO_DRIFT)


def test_a_tiny_certain_difference_is_no_drift(tmp_path: Path) -> None:
    source = random.Random(7)  # noqa: S311 - scores of a test
    before = [min(1.0, max(0.0, source.gauss(0.7, 0.1))) for _ in range(5000)]
    entry = only(
        drift(
            tmp_path,
            sample_events(before, days_ago=8),
            sample_events([v - 0.01 for v in before if v > 0.01], days_ago=1),
        )
    )
    assert entry.p is not None
    assert entry.p < 0.05
    assert entry.status is Status.NO_DRIFT


@pytest.mark.parametrize("count", [500, 2_000])
@pytest.mark.parametrize("levels", [(1.0, 1.0, 1.0, 1.0, 0.5), (0.25, 0.5, 0.75, 1.0)], ids=["ceiling", "five levels"])
def test_a_fall_of_five_points_is_found_in_more_conversations_too(
    tmp_path: Path, count: int, levels: tuple[float, ...]
) -> None:
    """By the size of Cliff's delta it was found less often the more conversations there were."""
    source = random.Random(count)  # noqa: S311 - scores of a test
    before = [source.choice(levels) for _ in range(count)]
    now = [max(0.0, value - 0.25) if source.random() < 0.24 else value for value in before]
    entry = only(drift(tmp_path, sample_events(before, days_ago=8), sample_events(now, days_ago=1)))
    assert entry.difference == pytest.approx(-0.06, abs=0.015)
    assert entry.status is Status.DRIFTED


@pytest.mark.parametrize(("effect", "status"), [(0.05, Status.DRIFTED), (0.051, Status.NO_DRIFT)])
def test_the_smallest_change_that_counts_is_set_in_points(tmp_path: Path, effect: float, status: Status) -> None:
    runs = sample_events([0.8, 0.9] * 500, days_ago=8), sample_events([0.75, 0.85] * 500, days_ago=1)
    entry = only(drift(tmp_path, *runs, rules=replace(RULES, effect=effect)))
    assert (entry.difference, entry.status) == (-0.05, status)


def test_runs_of_the_gate_in_the_same_file_are_left_out(tmp_path: Path) -> None:
    runs = (
        sample_events(GOOD, days_ago=8),
        sample_events(GOOD, days_ago=1),
        sample_events(BAD, days_ago=2, mode="blocking"),
    )
    assert only(drift(tmp_path, *runs)).recent == 50


def test_many_metrics_are_corrected_together(tmp_path: Path) -> None:
    source = random.Random(3)  # noqa: S311 - scores of a test
    runs = [
        sample_events([source.random() for _ in range(60)], days_ago=days, metric=f"M{number}", names=f"{days}-")
        for number in range(8)
        for days in (8, 1)
    ]
    found = drift(tmp_path, *runs)
    raw = [entry.mann_whitney.p for entry in found.metrics if entry.mann_whitney is not None]
    adjusted = [entry.p for entry in found.metrics if entry.p is not None]
    assert min(adjusted) == pytest.approx(min(1.0, 8 * min(raw)))


def test_every_bad_line_is_named_with_its_file(tmp_path: Path) -> None:
    good = write_events(tmp_path / "good.jsonl", sample_events([0.5], days_ago=1)).read_text()
    path = tmp_path / "bad.jsonl"
    path.write_text(good + good.replace('"score":0.5', '"score":7') + "{}\nnot json\n")
    with pytest.raises(ConfigurationError) as caught:
        read_samples([path, tmp_path / "missing.jsonl"])
    text = str(caught.value)
    assert f"{path}:4: the score is 7.0" in text
    assert f"{path}:5: " in text
    assert f"{path}:6: it is not JSON" in text
    assert "missing.jsonl: it cannot be read" in text
