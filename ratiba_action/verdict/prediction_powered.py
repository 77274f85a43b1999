"""What people would say on average about conversations that only a judge has scored: prediction-powered inference."""

import math
from collections.abc import Sequence
from statistics import NormalDist, pvariance, variance

from ratiba_action.model.measurement import MeanByPeople
from ratiba_action.model.values import mean

_REACH = NormalDist().inv_cdf(0.975)


def mean_by_people(labels: Sequence[float], scores: Sequence[float], others: Sequence[float]) -> MeanByPeople:
    """The mean of people's labels over conversations that have none, with its 95 % interval.

    The judge's mean, corrected by how far it is from people where both are known (Angelopoulos, Bates, Fannjiang,
    Jordan and Zrnic 2023), and weighted by how well it predicts them (Angelopoulos, Duchi and Zrnic 2023): a judge that
    predicts nothing has no weight, and makes the interval no wider than labels alone. It holds however biased the judge
    is, if the labelled conversations are a random sample of such ones. Nothing is beyond 0 and 1. Where the interval
    would be a point, which claims certainty, there is none.

    Args:
        labels: of people, 0 to 1.
        scores: of the judge about the same conversations, 0 to 1, in the same order.
        others: of the judge about conversations without a label, 0 to 1.

    Raises:
        ValueError: fewer than two of either, or not as many scores as labels.
    """
    n, number = len(labels), len(others)
    if n < 2 or number < 2 or n != len(scores):  # noqa: PLR2004 - a spread needs two values
        raise ValueError(f"{n} labels, {len(scores)} scores of these and {number} other scores have no interval.")
    weight = _weight(labels, scores, others)
    rectified = [label - weight * score for label, score in zip(labels, scores, strict=True)]
    estimate = weight * mean(others) + mean(rectified)
    predicted, own = weight**2 * pvariance(others) / number, pvariance(rectified)
    reach = _REACH * math.sqrt(predicted + own / n)
    low, high, shown = (min(max(value, 0.0), 1.0) for value in (estimate - reach, estimate + reach, estimate))
    if high - low < _POINT:
        return MeanByPeople(shown, None, None, n, number, None)
    # Half of the interval is a quarter of the variance; of the judge's part more labels take nothing away.
    rest = (predicted + own / n) / 4 - predicted
    more = max(0, math.ceil(own / rest) - n) if rest > 0 else None
    return MeanByPeople(shown, low, high, n, number, more)


_POINT = 1e-9
"""Width of an interval by rounding alone."""


def _weight(labels: Sequence[float], scores: Sequence[float], others: Sequence[float]) -> float:
    varied = variance([*scores, *others])
    if not varied:
        return 0.0
    label, score = mean(labels), mean(scores)
    together = math.fsum((y - label) * (f - score) for y, f in zip(labels, scores, strict=True)) / len(labels)
    return min(max(together / ((1 + len(labels) / len(others)) * varied), 0.0), 1.0)
