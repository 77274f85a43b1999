"""The aggregate scores of a case file, by the names that thresholds give them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from ratiba_action.metrics import classification, ranking
from ratiba_action.model.values import mean

Aggregate = Callable[[Sequence["CaseSample"]], float | None]
"""Value over cases, 0 to 1, 1 is best; None where none of them has what it is made of."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One answer of a classifier.

    Args:
        confidence: 0 to 1; None where none was given.
    """

    expected: frozenset[str]
    given: frozenset[str]
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One list of documents, the best first, and the relevance of those that were judged."""

    documents: tuple[str, ...]
    judgements: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RefusalSample:
    """Whether a request had to be refused, and whether it was."""

    expected: bool
    given: bool


@dataclass(frozen=True, slots=True)
class CaseSample:
    """One case.

    Args:
        labelled: of each turn whose labels are known.
        ranked: of each turn whose documents are known.
        refusals: of each turn that says whether it has to be refused.
        scores: value of each metric by its name; None stands for a perfect case.
        passed: whether every asserted check and every threshold above 0 passed; None where nothing is asserted.
    """

    labelled: tuple[Labelled, ...] = ()
    ranked: tuple[Ranked, ...] = ()
    refusals: tuple[RefusalSample, ...] = ()
    scores: Mapping[str, float] | None = None
    passed: bool | None = True


LABELS, DOCUMENTS, REFUSALS = "labels", "documents", "refusals"
TRUTHS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("LabelMetric", "LabelsMetric"), LABELS),
        **dict.fromkeys(("NdcgMetric", "MapMetric", "MrrMetric", "PrecisionAtKMetric", "RecallAtKMetric"), DOCUMENTS),
        "RefusalMetric": REFUSALS,
    }
)
"""Metrics of single cases, and the truth of the aggregates over them."""
_OF_A_CLASS = re.compile(r"(precision|recall|f1)\.(.+)", re.DOTALL)
_RANKED = re.compile(r"(ndcg|map|mrr|precision|recall)@([1-9][0-9]{0,3})|mrr")
_LISTS: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        "ndcg": ranking.ndcg,
        "map": ranking.average_precision,
        "mrr": ranking.reciprocal_rank,
        "precision": ranking.precision,
        "recall": ranking.recall,
    }
)


def truth_of(name: str) -> str:
    """Which truth an aggregate compares with: ``LABELS``, ``DOCUMENTS``, ``REFUSALS``, or empty for none."""
    if name in _BY_LABELS or _OF_A_CLASS.fullmatch(name):
        return LABELS
    if name in _REFUSED:
        return REFUSALS
    return DOCUMENTS if _RANKED.fullmatch(name) else ""


def ranked_parts(name: str) -> tuple[str, int | None]:
    """Formula and length of the list of an aggregate over documents, such as ``("ndcg", 10)``."""
    formula, _, cut = name.partition("@")
    return formula, int(cut) if cut else None


def aggregate(name: str) -> Aggregate:
    """The aggregate of a name; one that is not ours is a metric's, and stands for the mean of its scores."""
    if name == ANSWER_ACCURACY:
        return _answer_accuracy
    if name in _BY_LABELS:
        return partial(_over_labels, _BY_LABELS[name])
    if name in _REFUSED:
        return partial(_over_refusals, must_refuse=_REFUSED[name])
    if found := _OF_A_CLASS.fullmatch(name):
        return partial(_over_labels, partial(_of_class, found[1], found[2]))
    if _RANKED.fullmatch(name):
        return partial(_over_lists, *ranked_parts(name))
    return partial(_mean_score, name)


def confidence(samples: Sequence[CaseSample]) -> float | None:
    """Mean confidence of the answers that gave one."""
    given = [answer.confidence for answer in _labelled(samples) if answer.confidence is not None]
    return mean(given) if given else None


def classes_of(samples: Sequence[CaseSample]) -> tuple[classification.ClassCounts, ...]:
    """The counts of each expected class."""
    return classification.count_classes((answer.expected, answer.given) for answer in _labelled(samples))


def _labelled(samples: Sequence[CaseSample]) -> list[Labelled]:
    return [answer for sample in samples for answer in sample.labelled]


def _over_labels(formula: Callable[[Sequence[Labelled]], float | None], samples: Sequence[CaseSample]) -> float | None:
    labelled = _labelled(samples)
    return formula(labelled) if labelled else None


def _over_lists(formula: str, cut: int | None, samples: Sequence[CaseSample]) -> float | None:
    values = [
        mean([_LISTS[formula](ranking.documents, ranking.judgements, k=cut) for ranking in sample.ranked])
        for sample in samples
        if sample.ranked
    ]
    return mean(values) if values else None


def has_to_refuse(name: str) -> bool:
    """Whether an aggregate over refusals is of the requests that have to be refused, or of all others."""
    return _REFUSED[name]


def _over_refusals(samples: Sequence[CaseSample], *, must_refuse: bool) -> float | None:
    right = [
        turn.given == turn.expected for sample in samples for turn in sample.refusals if turn.expected == must_refuse
    ]
    return sum(right) / len(right) if right else None


def _mean_score(metric: str, samples: Sequence[CaseSample]) -> float | None:
    values = [
        1.0 if sample.scores is None else sample.scores[metric]
        for sample in samples
        if sample.scores is None or metric in sample.scores
    ]
    return mean(values) if values else None


def _answer_accuracy(samples: Sequence[CaseSample]) -> float | None:
    asserted = [sample.passed for sample in samples if sample.passed is not None]
    return sum(asserted) / len(asserted) if asserted else None


def _cases(labelled: Sequence[Labelled]) -> list[classification.Case]:
    return [(answer.expected, answer.given) for answer in labelled]


def _accuracy(labelled: Sequence[Labelled]) -> float | None:
    return classification.accuracy(_cases(labelled))


def _over_classes(
    formula: Callable[[Sequence[classification.ClassCounts]], float], labelled: Sequence[Labelled]
) -> float | None:
    classes = classification.count_classes(_cases(labelled))
    return formula(classes) if classes else None


def _of_class(formula: str, label: str, labelled: Sequence[Labelled]) -> float | None:
    """Of one class; None where no case expects it."""
    classes = classification.count_classes(_cases(labelled))
    return next((_FORMULAS[formula](scores) for scores in classes if scores.label == label), None)


def _over_pairs(
    formula: Callable[[Sequence[classification.Case]], float], labelled: Sequence[Labelled]
) -> float | None:
    return formula(_cases(labelled)) if any(answer.expected for answer in labelled) else None


def _calibration(labelled: Sequence[Labelled]) -> float | None:
    sure = [
        (answer.confidence, answer.expected == answer.given) for answer in labelled if answer.confidence is not None
    ]
    return 1 - classification.calibration_error(sure) if sure else None


ANSWER_ACCURACY = "answer_accuracy"
SKILL_RECALL = "skill_recall"
CALIBRATION = "calibration"
_REFUSED: Mapping[str, bool] = MappingProxyType({"refusal_rate": True, "answer_rate": False})
_FORMULAS: Mapping[str, Callable[[classification.ClassCounts], float]] = MappingProxyType(
    {
        "precision": lambda scores: scores.precision,
        "recall": lambda scores: scores.recall,
        "f1": lambda scores: scores.f1,
    }
)
_BY_LABELS: Mapping[str, Callable[[Sequence[Labelled]], float | None]] = MappingProxyType(
    {
        "accuracy": _accuracy,
        "macro_f1": partial(_over_classes, classification.macro_f1),
        "weighted_f1": partial(_over_classes, classification.weighted_f1),
        "macro_precision": partial(_over_classes, lambda classes: mean([scores.precision for scores in classes])),
        "macro_recall": partial(_over_classes, lambda classes: mean([scores.recall for scores in classes])),
        "micro_f1": partial(_over_pairs, classification.micro_f1),
        "min_class_f1": partial(_over_classes, lambda classes: min(scores.f1 for scores in classes)),
        "min_class_precision": partial(_over_classes, lambda classes: min(scores.precision for scores in classes)),
        "min_class_recall": partial(_over_classes, lambda classes: min(scores.recall for scores in classes)),
        SKILL_RECALL: partial(_over_pairs, classification.micro_recall),
        CALIBRATION: _calibration,
    }
)
_CLASSES = ("precision.CLASS", "recall.CLASS", "f1.CLASS")
AGGREGATES = (
    *_BY_LABELS,
    *_CLASSES,
    *_REFUSED,
    "ndcg@k",
    "map@k",
    "mrr",
    "mrr@k",
    "precision@k",
    "recall@k",
    ANSWER_ACCURACY,
)
"""Names that a gate may give besides those of metrics; CLASS is a label, k a number from 1 to 9999."""
