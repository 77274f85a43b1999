"""A published worked example, scikit-learn as the oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support, recall_score
from sklearn.preprocessing import MultiLabelBinarizer

from ratiba_action.metrics.classification import (
    Case,
    accuracy,
    calibration_error,
    case_f1,
    case_recall,
    count_classes,
    macro_f1,
    micro_f1,
    micro_recall,
    weighted_f1,
)

LABELS = st.sampled_from(["answer", "booking", "redirect", "unknown"])
SINGLE = st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40)
SETS = st.frozensets(LABELS, max_size=4)
MULTI = st.lists(st.tuples(SETS, SETS), min_size=1, max_size=40).filter(
    lambda cases: any(expected for expected, _ in cases)
)


def single(*pairs: tuple[str, str | None]) -> list[Case]:
    return [(frozenset({truth}), frozenset({got} if got else ())) for truth, got in pairs]


def test_the_averages_are_those_of_the_worked_example() -> None:
    # https://scikit-learn.org/stable/modules/generated/sklearn.metrics.f1_score.html, first example.
    cases = single(*zip("012012", "021001", strict=True))
    classes = count_classes(cases)
    assert macro_f1(classes) == pytest.approx(0.2667, abs=5e-5)
    assert weighted_f1(classes) == pytest.approx(0.2667, abs=5e-5)
    assert micro_f1(cases) == pytest.approx(1 / 3)
    assert [one.f1 for one in classes] == pytest.approx([0.8, 0, 0])


def test_a_case_without_an_answer_lowers_recall_and_no_precision() -> None:
    (one,) = count_classes(single(("a", "a"), ("a", None)))
    assert (one.precision, one.recall, one.support, one.given) == (1, 0.5, 2, 1)


def test_a_label_that_nobody_expects_is_a_wrong_answer_and_no_class() -> None:
    cases = single(("a", "a"), ("a", "invented"))
    assert [one.label for one in count_classes(cases)] == ["a"]
    assert accuracy(cases) == 0.5
    assert micro_f1(cases) == 0.5


@given(SINGLE)
def test_single_labels_agree_with_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    truth, got = [one for one, _ in pairs], [other for _, other in pairs]
    cases, labels = single(*pairs), sorted(set(truth))
    classes = count_classes(cases)
    expected = precision_recall_fscore_support(truth, got, labels=labels, zero_division=0)
    found = [[getattr(one, name) for one in classes] for name in ("precision", "recall", "f1", "support")]
    assert np.allclose(found, expected)
    assert macro_f1(classes) == pytest.approx(f1_score(truth, got, labels=labels, average="macro", zero_division=0))
    assert weighted_f1(classes) == pytest.approx(
        f1_score(truth, got, labels=labels, average="weighted", zero_division=0)
    )
    assert accuracy(cases) == pytest.approx(accuracy_score(truth, got))


@given(MULTI)
def test_several_labels_agree_with_scikit_learn(cases: list[Case]) -> None:
    binarizer = MultiLabelBinarizer(classes=["answer", "booking", "redirect", "unknown"])
    truth = binarizer.fit_transform([expected for expected, _ in cases])
    got = binarizer.transform([labels for _, labels in cases])
    assert accuracy(cases) == pytest.approx(accuracy_score(truth, got))
    assert micro_f1(cases) == pytest.approx(f1_score(truth, got, average="micro", zero_division=0))
    assert micro_recall(cases) == pytest.approx(recall_score(truth, got, average="micro", zero_division=0))
    classes = count_classes(cases)
    named = [index for index, label in enumerate(binarizer.classes_) if label in {one.label for one in classes}]
    assert macro_f1(classes) == pytest.approx(f1_score(truth, got, labels=named, average="macro", zero_division=0))


def test_one_case_of_several_labels_by_hand() -> None:
    expected, got = frozenset({"a", "b", "c"}), frozenset({"a", "b", "d"})
    assert case_recall(expected, got) == pytest.approx(2 / 3)
    assert case_f1(expected, got) == pytest.approx(2 / 3)


def test_where_no_label_is_expected_none_is_right() -> None:
    none, one = frozenset[str](), frozenset({"a"})
    assert (case_recall(none, none), case_f1(none, none)) == (1, 1)
    assert (case_recall(none, one), case_f1(none, one)) == (0, 0)


def test_calibration_is_the_weighted_distance_of_the_bins_by_hand() -> None:
    # Two bins: (0.9, 0.7) right and wrong: |0.8 - 0.5| * 2/3; (0.2) wrong: 0.2 * 1/3.
    answers = [(0.9, True), (0.7, False), (0.2, False)]
    assert calibration_error(answers, bins=2) == pytest.approx(0.3 * 2 / 3 + 0.2 / 3)


def test_a_confidence_that_is_always_right_has_no_error() -> None:
    assert calibration_error([(1.0, True), (0.0, False)]) == 0


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_calibration_agrees_with_bins_counted_by_numpy(answers: list[tuple[float, bool]]) -> None:
    sure = np.array([confidence for confidence, _ in answers])
    right = np.array([float(was) for _, was in answers])
    borders = np.array([number / 10 for number in range(1, 10)])
    places = np.digitize(sure, borders, right=True)
    expected = sum(
        np.abs(sure[places == place].mean() - right[places == place].mean()) * (places == place).mean()
        for place in set(places.tolist())
    )
    assert calibration_error(answers) == pytest.approx(expected, abs=1e-9)
