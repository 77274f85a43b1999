"""What people would say on average about conversations that only a judge has scored: prediction-powered inference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class BiasOfArms:
    """How far a judge is from people on the base, and on the change.

    Args:
        base: mean of its scores minus people's labels on the base, -1 to 1.
        head: the same on the change.
        low: lower bound of the 95 % interval of head minus base.
        p: two-sided, of the hypothesis that both are the same.
        base_labels: conversations of the base that people labelled.
    """

    base: float
    head: float
    low: float
    high: float
    p: float
    base_labels: int
    head_labels: int

    @property
    def differs(self) -> bool:
        """Whether chance does not explain the difference: then scores compare the judge's bias as well."""
        return self.p <= _LEVEL


_LEVEL = 0.05
MIN_OF_ARM = 10
"""Labelled conversations of an arm without which its bias is not compared."""


def bias_of_arms(base: Sequence[float], head: Sequence[float]) -> BiasOfArms | None:
    """Whether a judge is as far from people on the change as it is on the base.

    Prediction-powered inference adds to each arm's mean its rectifier, people minus judge (Angelopoulos et al. 2023).
    Where both rectifiers are the same they cancel in a difference of arms, and the judge's scores alone tell it. The
    test of that is Welch's (1947).

    Args:
        base: the judge's score minus the label, both 0 to 1, of each labelled conversation of the base.
        head: the same of the change.

    Returns:
        None with fewer than ``MIN_OF_ARM`` labels of an arm.
    """
    if min(len(base), len(head)) < MIN_OF_ARM:
        return None
    from scipy.stats import t  # half a second, only when judges are compared with people

    parts = [variance(errors) / len(errors) for errors in (base, head)]
    difference, error = mean(head) - mean(base), math.sqrt(sum(parts))
    if error < _POINT:
        p, reach = (1.0 if abs(difference) < _POINT else 0.0), 0.0
    else:
        sizes = (len(base), len(head))
        freedom = sum(parts) ** 2 / sum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True))
        p, reach = float(2 * t.sf(abs(difference) / error, freedom)), float(t.ppf(0.975, freedom)) * error
    return BiasOfArms(mean(base), mean(head), difference - reach, difference + reach, p, len(base), len(head))


_POINT = 1e-9
"""Width of an interval by rounding alone."""


def _weight(labels: Sequence[float], scores: Sequence[float], others: Sequence[float]) -> float:
    varied = variance([*scores, *others])
    if not varied:
        return 0.0
    label, score = mean(labels), mean(scores)
    together = math.fsum((y - label) * (f - score) for y, f in zip(labels, scores, strict=True)) / len(labels)
    return min(max(together / ((1 + len(labels) / len(others)) * varied), 0.0), 1.0)
