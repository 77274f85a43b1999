"""A judge's many scores and people's few labels, together."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.verdict.prediction_powered import mean_by_people

REFERENCE = json.loads((Path(__file__).parent / "prediction_powered_means.json").read_text("utf-8"))
SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=30)


@pytest.mark.parametrize("case", REFERENCE["cases"])
def test_means_and_intervals_are_those_of_the_authors_own_package(case: dict[str, list[float] | float]) -> None:
    given_ = [[float(value) for value in case[name]] for name in ("labels", "predictions", "unlabelled")]  # type: ignore[union-attr] # lists
    found = mean_by_people(*given_)
    assert [found.estimate, found.low, found.high] == pytest.approx([case["estimate"], case["low"], case["high"]])


def test_a_judge_that_is_always_right_but_for_a_shift_is_worth_as_many_labels_as_it_has_scores() -> None:
    random = np.random.default_rng(1)
    worth = [float(value) for value in random.uniform(0.2, 0.8, 1030)]
    shifted = [value + 0.1 for value in worth]
    found = mean_by_people(worth[:30], shifted[:30], shifted[30:])
    assert found.low < np.mean(worth[30:]) < found.high
    assert found.high - found.low < 0.03, "30 labels alone: 0.12"


@given(SHARES, SHARES, st.data())
def test_the_more_labels_that_are_named_halve_the_interval(
    labels: list[float], others: list[float], data: st.DataObject
) -> None:
    scores = data.draw(st.lists(st.floats(0, 1), min_size=len(labels), max_size=len(labels)))
    found = mean_by_people(labels, scores, others)
    assert 0 <= found.low <= found.high <= 1
    assert found.more is None or found.more >= 0


def test_what_more_labels_take_away_is_their_own_part_of_the_interval_only() -> None:
    labels, scores = [0.25, 0.5, 0.75, 1.0] * 10, [0.5, 0.5, 0.5, 0.5] * 10
    alone = mean_by_people(labels, scores, scores)
    assert alone.more == 3 * 40, "without a judge that helps, four times as many labels"
    perfect = mean_by_people(labels, labels, labels * 3)
    assert perfect.more is None, "only more scores would"


@pytest.mark.parametrize(
    ("labels", "scores", "others"),
    [([0.5], [0.5], [0.5, 0.6]), ([0.5, 0.6], [0.5, 0.6], [0.5]), ([0.5, 0.6], [0.5], [0.5, 0.6])],
)
def test_too_few_are_refused(labels: list[float], scores: list[float], others: list[float]) -> None:
    with pytest.raises(ValueError, match="have no interval"):
        mean_by_people(labels, scores, others)
