"""What is said of a judge by the shape of its differences from people."""

import math
import random
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import norm, pearsonr
from scipy.stats import t as student
from statsmodels.stats.inter_rater import cohens_kappa as oracle

from ratiba_action.verdict.human_agreement import FAILED, LABELS, Weights, human_agreement, squared_differences

Pairs = list[tuple[int, int]]
SOURCE = random.Random(11)  # noqa: S311 - repeatable

SHIFT = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 5)] * 24
STRICT = [(judged, label) for label, judged in SHIFT]
HALF_SHIFT = [(label, min(label + number % 2, 5)) for number in range(120) for label in LABELS]
COMPRESSED = [(1, 2), (2, 2), (3, 3), (4, 4), (5, 4)] * 24
HARD_COMPRESSED = [(1, 3), (2, 3), (3, 3), (4, 3), (5, 4)] * 24
STRETCHED = [(2, 1), (3, 3), (4, 5), (3, 3)] * 30
NOISE = [(label, min(max(label + SOURCE.choice((-1, 0, 0, 0, 1)), 1), 5)) for _ in range(24) for label in LABELS]
RANDOM = [(label, SOURCE.choice(LABELS)) for _ in range(24) for label in LABELS]
EVERY_SCORE_BESIDE = [(1, 2), (2, 1), (3, 4), (4, 3), (4, 5), (5, 4)] * 20
ONE_SCORE = [(label, 4) for label in LABELS] * 24
ONE_LABEL = [(4, 4)] * 120
BESIDE_ONE_LABEL = [(4, 5)] * 120
AROUND_ONE_LABEL = [(4, 3), (4, 4), (4, 5)] * 40
NEARLY_ONE_LABEL = [(4, 3), (4, 4), (4, 4), (4, 5)] * 30
ALL_BUT_ONE_LABEL = [(5, 5)] * 29 + [(4, 4)]
TWO_BESIDE_ONE_LABEL = [(5, 5)] * 28 + [(4, 5), (1, 1)]
"""Its interval of kappa reaches -1."""
OPPOSITE_RATERS = [(2, 3), (3, 4), (4, 5), (2, 1), (3, 2), (4, 3)] * 20
"""One person's labels are always one below the judge, the other's one above: on average there is no bias."""
ONE_RATER_AGREES = [(label, label) for label in LABELS] * 12 + SHIFT[:60]
NEAR = [(1, 1), (2, 3), (3, 2), (4, 5), (5, 3), (5, 5), (3, 3), (2, 2), (1, 2), (4, 4)] * 4
FEW_LABELS = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (5, 5), (3, 4), (2, 1), (4, 4), (1, 1)] * 3


@pytest.mark.parametrize(
    ("pairs", "status", "shape", "advice"),
    [
        (SHIFT, "biased", "shift", "more lenient than people by 0.8, a constant shift. Add anchors"),
        (STRICT, "biased", "shift", "stricter than people by 0.8, a constant shift. Add anchors"),
        (HALF_SHIFT, "calibrated", "noise", "Nothing."),
        (COMPRESSED, "calibrated", "scale", "Nothing."),
        (HARD_COMPRESSED, "below", "scale", "a narrower part of the scale than people. Add anchors"),
        (STRETCHED, "calibrated", "scale", "Nothing."),
        (NOISE, "calibrated", "noise", "Nothing."),
        (RANDOM, "below", "noise", "differences vary: change the criterion's steps or the judge."),
        (EVERY_SCORE_BESIDE, "inexact", "noise", "differences vary: change the criterion's steps or the judge."),
        (ONE_SCORE, "below", "scale", "a narrower part of the scale"),
        (ONE_LABEL, "undefined", "none", "Add conversations of other quality"),
        (BESIDE_ONE_LABEL, "biased", "shift", "more lenient than people by 1.0, a constant shift"),
        (AROUND_ONE_LABEL, "inexact", "scale", "Add conversations of other quality"),
        (NEARLY_ONE_LABEL, "undefined", "scale", "Add conversations of other quality"),
        (OPPOSITE_RATERS, "below", "noise", "differences vary"),
        (ONE_RATER_AGREES, "calibrated", "noise", "Nothing."),
        (FEW_LABELS, "calibrated", "noise", "Nothing."),
        (ALL_BUT_ONE_LABEL, "undefined", "none", "people gave all, or all but one, of these the same label"),
        (TWO_BESIDE_ONE_LABEL, "unproven", "noise", "labels alone will not help"),
        (SHIFT[:29], "uncalibrated", "shift", "Label 1 more conversations"),
    ],
)
def test_each_shape_is_named_with_its_remedy(pairs: Pairs, status: str, shape: str, advice: str) -> None:
    found = human_agreement("opus", "tone", pairs)
    assert (found.status, found.shape) == (status, shape), (found.kappa, found.exact, found.bias)
    assert advice in found.advice
    assert bool(found.problem) == (status in {"below", "biased", "inexact"})


def test_a_judge_that_is_almost_never_right_has_a_weighted_kappa_above_the_bound() -> None:
    found = human_agreement("opus", "tone", SHIFT)
    assert found.kappa is not None
    assert (round(found.kappa, 2), round(found.unweighted or 0, 2), found.exact) == (0.8, 0.0, 0.2)
    assert found.problem == "the bias of +0.80 labels is not within 0.5"


@pytest.mark.parametrize(
    ("pairs", "status"),
    [(SHIFT, "below"), (COMPRESSED, "below"), (NOISE, "below"), (ONE_LABEL, "undefined"), (FEW_LABELS, "unproven")],
)
def test_by_setting_the_plain_kappa_decides_alone(pairs: Pairs, status: str) -> None:
    found = human_agreement("opus", "tone", pairs, "unweighted")
    assert found.status == status, found.kappa
    assert found.kappa == found.unweighted
    if status == "below":
        assert found.problem.startswith("unweighted kappa")


def test_a_bias_whose_interval_reaches_the_bound_is_not_proven() -> None:
    pairs = [(1, 1), (2, 3), (3, 3), (4, 5), (5, 5), (1, 1), (3, 4), (2, 2)] * 4
    found = human_agreement("opus", "tone", pairs)
    assert found.low is not None
    assert found.bias_high is not None
    assert found.low > 0.7
    assert (found.bias or 0) < 0.5 < found.bias_high
    assert found.status == "unproven"


RATINGS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=60)


@given(
    # Many of one pair beside a few others: that is where kappa and its interval reach an end of their scale.
    st.builds(
        lambda pair, times, others: [pair] * times + others,
        st.tuples(st.integers(1, 5), st.integers(1, 5)),
        st.integers(0, 60),
        st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=8),
    ),
    st.sampled_from(["quadratic", "unweighted"]),
)
@example(TWO_BESIDE_ONE_LABEL, "quadratic")
def test_whatever_the_labels_there_is_a_status_an_advice_and_a_problem_where_it_failed(
    pairs: Pairs, weights: Weights
) -> None:
    found = human_agreement("opus", "tone", pairs, weights)
    assert found.advice
    assert bool(found.problem) == (found.status in FAILED)


@given(RATINGS)
def test_the_figures_are_those_of_other_implementations(pairs: Pairs) -> None:
    found = human_agreement("opus", "tone", pairs)
    labels, judged = np.array(pairs, dtype=float).T
    difference = judged - labels
    if found.kappa is not None:
        with np.errstate(all="ignore"):
            assert found.quadratic == pytest.approx(
                oracle(found.table, weights=np.arange(5), wt="fc", return_results=False)
            )
            assert found.unweighted == pytest.approx(oracle(found.table, return_results=False))
    assert found.exact == pytest.approx(float(np.mean(difference == 0)))
    standard_error = difference.std(ddof=1) / np.sqrt(len(difference))
    low, high = norm.interval(0.95, loc=difference.mean(), scale=standard_error or 1e-300)
    assert (found.bias, found.bias_low, found.bias_high) == pytest.approx((difference.mean(), low, high))


@given(RATINGS)
def test_the_parts_of_the_squared_difference_are_those_of_theil(pairs: Pairs) -> None:
    labels, judged = np.array(pairs, dtype=float).T
    parts = squared_differences(pairs)
    assert sum(parts.values()) == pytest.approx(float(np.mean((judged - labels) ** 2)))
    assert parts["shift"] == pytest.approx(float((judged.mean() - labels.mean()) ** 2))
    assert parts["scale"] == pytest.approx(float((judged.std() - labels.std()) ** 2))
    if labels.std() and judged.std():
        rest = 2 * (1 - pearsonr(labels, judged).statistic) * labels.std() * judged.std()
        assert parts["noise"] == pytest.approx(float(rest), abs=1e-9)


def test_the_interval_of_kappa_is_the_jackknife_on_the_scale_of_fisher() -> None:
    """The error by resampling by hand, the scale and the quantile by NumPy and SciPy."""
    pairs = [(1, 1), (2, 3), (3, 3), (4, 5), (5, 5), (1, 2), (3, 4), (2, 2)] * 4
    whole = human_agreement("opus", "tone", pairs)
    left_out = [human_agreement("opus", "tone", [*pairs[:k], *pairs[k + 1 :]]).kappa for k in range(len(pairs))]
    values = np.array(left_out, dtype=float)
    error = np.sqrt((len(pairs) - 1) / len(pairs) * np.sum((values - values.mean()) ** 2))
    assert whole.kappa is not None
    half = student.ppf(0.975, len(pairs) - 1) * error / (1 - whole.kappa**2)
    expected = np.tanh([np.arctanh(whole.kappa) - half, np.arctanh(whole.kappa) + half])
    assert (whole.low, whole.high) == pytest.approx(tuple(expected))


def test_the_interval_of_a_judge_that_always_agrees_is_a_point() -> None:
    found = human_agreement("opus", "tone", [(label, label) for label in LABELS] * 8)
    assert (found.kappa, found.low, found.high, found.status) == (1, 1, 1, "calibrated")


def test_how_many_more_labels_prove_a_judge_is_said_by_how_far_it_is_from_the_bound() -> None:
    steady = human_agreement("opus", "tone", NEAR)
    assert steady.status == "unproven"
    number = re.match(r"Label about (\d+) more conversations", steady.advice)
    assert number is not None, steady.advice
    assert 0 < int(number[1]) < 360
    proven = human_agreement("opus", "tone", NEAR * (1 + math.ceil(int(number[1]) / len(NEAR))))
    assert proven.status == "calibrated"


def test_a_judge_at_the_bound_is_not_helped_by_labels() -> None:
    beside = [(label, min(label + 1, 5) if number % 2 else label) for number in range(60) for label in LABELS[:4]]
    found = human_agreement("opus", "tone", beside[:239])
    assert (found.status, round(found.bias or 0, 3)) == ("unproven", 0.498)
    assert found.advice.startswith("The interval of kappa or bias reaches a bound, and labels alone will not help.")
