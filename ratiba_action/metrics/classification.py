"""How well a classifier answers, over all cases of a case file.

A case is a pair of sets of labels: those that are expected and those that the system gave. A single-label classifier
has one in each, and none where it gave no label. The classes are those that some case expects: an answer of any other
class is wrong, and has no row of its own.

Source of precision, recall, F1 and their averages: Sokolova and Lapalme 2009, "A systematic analysis of performance
measures for classification tasks"; the values are scikit-learn's with ``zero_division=0``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ratiba_action.model.values import mean

Case = tuple[AbstractSet[str], AbstractSet[str]]
"""Labels that are expected, and labels that were given."""

_BINS = 10


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """The cases of one class.

    Args:
        hits: cases that expect the label and were given it.
        given: cases that were given it.
    """

    label: str
    hits: int
    support: int
    given: int

    @property
    def precision(self) -> float:
        """Hits over the cases that were given the label; 0 where there is none."""
        return self.hits / self.given if self.given else 0.0

    @property
    def recall(self) -> float:
        """Hits over the cases that expect the label; 0 where there is none."""
        return self.hits / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.hits / (self.support + self.given) if self.support + self.given else 0.0


def count_classes(cases: Iterable[Case]) -> tuple[ClassCounts, ...]:
    """The counts of each expected class, in order of label."""
    hits, support, given = Counter[str](), Counter[str](), Counter[str]()
    for expected, got in cases:
        hits.update(expected & got)
        support.update(expected)
        given.update(got)
    return tuple(ClassCounts(label, hits[label], support[label], given[label]) for label in sorted(support))


def accuracy(cases: Sequence[Case]) -> float:
    """Share of cases whose labels are exactly those expected: accuracy, and of several labels subset accuracy.

    Args:
        cases: at least one.
    """
    return sum(expected == got for expected, got in cases) / len(cases)


def macro_f1(classes: Sequence[ClassCounts]) -> float:
    """The plain mean of the classes' F1.

    Args:
        classes: at least one.
    """
    return mean([scores.f1 for scores in classes])


def weighted_f1(classes: Sequence[ClassCounts]) -> float:
    """The mean of the classes' F1, each weighted by its support.

    Args:
        classes: at least one.
    """
    return sum(scores.f1 * scores.support for scores in classes) / sum(scores.support for scores in classes)


def micro_f1(cases: Sequence[Case]) -> float:
    """F1 over all pairs of case and label, those of labels that no case expects too.

    Args:
        cases: at least one expects a label.
    """
    hits = sum(len(expected & got) for expected, got in cases)
    return 2 * hits / sum(len(expected) + len(got) for expected, got in cases)


def micro_recall(cases: Sequence[Case]) -> float:
    """Share of the expected labels of all cases that were given: how well a selector covers what is needed.

    Args:
        cases: at least one expects a label.
    """
    return sum(len(expected & got) for expected, got in cases) / sum(len(expected) for expected, _ in cases)


def case_recall(expected: AbstractSet[str], got: AbstractSet[str]) -> float:
    """Share of one case's expected labels that were given; where none is expected, 1 if none was given, else 0."""
    return len(expected & got) / len(expected) if expected else float(not got)


def case_f1(expected: AbstractSet[str], got: AbstractSet[str]) -> float:
    """F1 of one case's labels; 1 where none is expected and none given."""
    return 2 * len(expected & got) / (len(expected) + len(got)) if expected or got else 1.0


def calibration_error(answers: Sequence[tuple[float, bool]], bins: int = _BINS) -> float:
    """Expected calibration error: how far confidence is from being right, 0 at best.

    Answers are sorted into bins of equal width by confidence. The distance of mean confidence and share of right
    answers of each bin is weighted by the bin's size. A confidence on a border belongs to the bin below it.

    Source: Guo et al. 2017, "On calibration of modern neural networks", equation 3.

    Args:
        answers: confidence from 0 to 1, and whether the answer was right; at least one.
    """
    totals: dict[int, tuple[float, int]] = {}
    for confidence, right in answers:
        place = next(number for number in range(bins) if confidence <= (number + 1) / bins)
        sure, correct = totals.get(place, (0.0, 0))
        totals[place] = (sure + confidence, correct + right)
    return sum(abs(sure - correct) for sure, correct in totals.values()) / len(answers)
