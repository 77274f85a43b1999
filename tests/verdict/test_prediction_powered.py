"""A judge's many scores and people's few labels, together."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ratiba_action.verdict.prediction_powered import bias_of_arms, mean_by_people

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
    assert found.low is not None
    assert found.high is not None
    assert found.low < np.mean(worth[30:]) < found.high
    assert found.high - found.low < 0.03, "30 labels alone: 0.12"


@pytest.mark.parametrize(
    ("labels", "scores", "others", "estimate"),
    [
        pytest.param([1.0] * 15 + [0.75] * 15, [0.9] * 15 + [0.1] * 15, [1.0] * 200, 1.0, id="beyond the scale"),
        pytest.param([1.0] * 15 + [0.75] * 15, [0.1] * 15 + [0.9] * 15, [1.0] * 200, 0.875, id="no weight"),
        pytest.param([0.75] * 30, [1.0] * 30, [1.0] * 10, 0.75, id="nothing varies"),
        pytest.param([0.75] * 30, [0.4, 0.6] * 15, [0.5, 0.6] * 10, 0.75, id="one label"),
    ],
)
def test_what_labels_do_not_show_has_no_interval_and_no_estimate_is_beyond_the_scale(
    labels: list[float], scores: list[float], others: list[float], estimate: float
) -> None:
    found = mean_by_people(labels, scores, others)
    assert found.estimate == pytest.approx(estimate)
    assert ((found.low, found.high, found.more) == (None, None, None)) == (estimate != 0.875)


@given(SHARES, SHARES, st.data())
def test_the_more_labels_that_are_named_halve_the_interval(
    labels: list[float], others: list[float], data: st.DataObject
) -> None:
    scores = data.draw(st.lists(st.floats(0, 1), min_size=len(labels), max_size=len(labels)))
    found = mean_by_people(labels, scores, others)
    assert 0 <= found.estimate <= 1
    if found.low is None or found.high is None:
        assert found.more is None
    else:
        assert 0 <= found.low <= found.estimate <= found.high <= 1
        assert found.low < found.high, "no interval claims certainty"
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


def test_the_biases_of_two_arms_are_compared_as_scipy_compares_them() -> None:
    base = [0.0, 0.05, -0.1, 0.1, 0.0, 0.25, -0.05, 0.0, 0.1, 0.05]
    head = [0.2, 0.3, 0.05, 0.25, 0.4, 0.15, 0.1, 0.3, 0.2, 0.45, 0.0, 0.25]
    found = bias_of_arms(base, head)
    assert found is not None
    expected = stats.ttest_ind(head, base, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert [found.p, found.low, found.high] == pytest.approx([expected.pvalue, interval.low, interval.high])
    assert [found.base, found.head] == pytest.approx([0.04, sum(head) / 12])
    assert (found.differs, found.base_labels, found.head_labels) == (True, 10, 12)
    assert bias_of_arms(base[:9], head) is None, "nine labels"


@pytest.mark.parametrize(("head", "differs"), [(0.25, False), (0.5, True)])
def test_a_bias_that_never_varies_differs_where_it_is_another(head: float, *, differs: bool) -> None:
    found = bias_of_arms([0.25] * 10, [head] * 10)
    assert found is not None
    assert found.differs is differs
