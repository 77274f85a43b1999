"""How far a judge agrees with people, of what shape its differences are, and what to do about them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, variance
from typing import Literal

from ratiba_action.model.values import mean
from ratiba_action.verdict.agreement import (
    Disagreement,
    cohen_kappa,
    contingency_table,
    gwet_coefficient,
    quadratic,
    unweighted,
)

LABELS = (1, 2, 3, 4, 5)
"""Of people: from unusable to nothing to change."""
BOUND = 0.7
"""Least kappa of a judge with people."""
BIAS = 0.5
"""Mean difference, in labels, from which a judge is biased: it then gives the next label as often as the right one."""
EXACT = 0.5
"""Least share of scores that are exactly the label."""
MIN = 30
"""Labels without which nothing is said."""
FAILED = frozenset({"below", "biased", "inexact"})
"""Statuses of a judge that agrees too little."""
_CONFIDENCE, _POWER = NormalDist().inv_cdf(0.975), NormalDist().inv_cdf(0.8)

_HOPELESS = 9
"""Times the labels that there are, beyond which more of them are no advice."""
_ANCHORS = "Add anchors to the criterion's steps: an example of each of the scores 0, 3, 5, 8 and 10."
_OTHERS = "Add conversations of other quality: people gave all, or all but one, of these the same label."

Weights = Literal["quadratic", "unweighted"]
Shape = Literal["none", "shift", "scale", "noise"]
_DISAGREEMENT: dict[Weights, Disagreement] = {"quadratic": quadratic, "unweighted": unweighted}


@dataclass(frozen=True, slots=True)
class HumanAgreement:
    """How far one judge agrees with people on one criterion.

    Args:
        n: conversations with a label and a score.
        weights: of the kappa that decides. ``unweighted`` decides alone; ``quadratic`` forgives a constant shift, so
            bias and exact agreement decide with it.
        kappa: that one; None where it is undefined, as when all labels are the same.
        low: lower bound of its 95 % interval; None with it.
        quadratic: kappa with quadratic weights.
        unweighted: kappa without weights.
        ac2: Gwet's AC2 with quadratic weights.
        exact: share of scores that are the label.
        bias: mean of judge minus label, in labels.
        bias_low: lower bound of its 95 % interval.
        shape: most of the squared differences: a constant ``shift``, another ``scale``, or ``noise``.
        table: rows are the labels 1 to 5, columns the judge's.
    """

    judge: str
    criterion: str
    n: int
    weights: Weights
    kappa: float | None
    low: float | None
    high: float | None
    quadratic: float | None
    unweighted: float | None
    ac2: float | None
    exact: float | None
    bias: float | None
    bias_low: float | None
    bias_high: float | None
    shape: Shape
    table: Sequence[Sequence[int]]

    @property
    def status(self) -> str:
        """``uncalibrated``, ``undefined``, ``below``, ``biased``, ``inexact``, ``unproven`` or ``calibrated``."""
        if self.n < MIN:
            return "uncalibrated"
        if self.kappa is not None and self.kappa < BOUND:
            return "below"
        if self.weights == "quadratic":
            if abs(self.bias or 0) >= BIAS:
                return "biased"
            if (self.exact or 0) < EXACT:
                return "inexact"
        if self.kappa is None or self.low is None:
            return "undefined"
        unproven = self.low < BOUND
        if self.weights == "quadratic":
            unproven |= max(abs(self.bias_low or 0), abs(self.bias_high or 0)) >= BIAS
        return "unproven" if unproven else "calibrated"

    @property
    def _labels_to_prove(self) -> float:
        """Labels that prove the bounds with 80 % power if the judge stays as it is; infinite at a bound itself.

        An interval narrows with the square root of its labels; kappa's does so on Fisher's scale, which has no end: of
        one that reaches -1 nothing can be said but that labels will not do.
        """
        kappa, low = self.kappa or 0, self.low or 0
        if low <= -1:
            return math.inf
        widths = [(math.atanh(kappa) - math.atanh(low), math.atanh(kappa) - math.atanh(BOUND))] if kappa < 1 else []
        if self.weights == "quadratic":
            bias, high = self.bias or 0, self.bias_high or 0
            widths.append((high - bias, BIAS - abs(bias)))
        factor = (_CONFIDENCE + _POWER) / _CONFIDENCE
        return max(self.n * (factor * half / room) ** 2 if room else math.inf for half, room in widths)

    @property
    def problem(self) -> str:
        """Which bound was missed, with the value; empty unless the status is one of ``FAILED``."""
        match self.status:
            case "below":
                return f"{self.weights} kappa {self.kappa or 0:.2f} is below {BOUND}"
            case "biased":
                return f"the bias of {self.bias or 0:+.2f} labels is not within {BIAS}"
            case "inexact":
                return f"{self.exact or 0:.0%} of the scores are exactly the label, fewer than {EXACT:.0%}"
        return ""

    @property
    def advice(self) -> str:
        """What to do."""
        match self.status:
            case "uncalibrated":
                return f"Label {MIN - self.n} more conversations: {MIN} are the minimum."
            case "undefined":
                return _OTHERS
            case "below" | "biased" | "inexact":
                return f"{self._remedy} Then run: ratiba calibrate run."
            case "unproven":
                more = self._labels_to_prove - self.n
                if more > _HOPELESS * self.n:
                    return f"The interval of kappa or bias reaches a bound, and labels alone will not help. {_ANCHORS}"
                return (
                    f"Label about {math.ceil(more)} more conversations: the interval of kappa or bias reaches a bound, "
                    "and leaves it with 80 % probability then if the judge stays as it is."
                )
        return "Nothing."

    @property
    def _remedy(self) -> str:
        bias = self.bias or 0
        lean = "stricter than people" if bias < 0 else "more lenient than people"
        if self.shape == "shift":
            return f"The judge is {lean} by {abs(bias):.1f}, a constant shift. {_ANCHORS}"
        if self.kappa is None:
            return _OTHERS
        if self.shape == "scale":
            rows = [sum(row) for row in self.table]
            columns = [sum(column) for column in zip(*self.table, strict=True)]
            narrow = _variance(columns) < _variance(rows)
            return f"The judge uses a {'narrower' if narrow else 'wider'} part of the scale than people. {_ANCHORS}"
        hint = f" The judge is {lean} by {abs(bias):.1f}." if abs(bias) >= BIAS else ""
        return f"The judge's differences vary: change the criterion's steps or the judge.{hint}"


def human_agreement(
    judge: str, criterion: str, pairs: Sequence[tuple[int, int]], weights: Weights = "quadratic"
) -> HumanAgreement:
    """Agreement of labels with a judge: kappa with its jackknife interval, bias with its own, and AC2 beside them.

    Args:
        pairs: label of a person and of the judge, from 1 to 5.
    """
    table = contingency_table(pairs, LABELS)
    both: dict[Weights, float | None] = {"quadratic": cohen_kappa(table, quadratic), "unweighted": cohen_kappa(table)}
    # Of one label only, chance explains every agreement: 0 would say that the judge is wrong.
    kappa = both[weights] if sum(map(any, table)) > 1 else None
    low, high = _kappa_interval(pairs, _DISAGREEMENT[weights], kappa)
    bias, bias_low, bias_high = _bias([judged - label for label, judged in pairs])
    return HumanAgreement(
        judge=judge,
        criterion=criterion,
        n=len(pairs),
        weights=weights,
        kappa=kappa,
        low=low,
        high=high,
        quadratic=both["quadratic"],
        unweighted=both["unweighted"],
        ac2=gwet_coefficient(table, quadratic),
        exact=mean([float(label == judged) for label, judged in pairs]) if pairs else None,
        bias=bias,
        bias_low=bias_low,
        bias_high=bias_high,
        shape=shape_of(pairs),
        table=table,
    )


def shape_of(pairs: Sequence[tuple[int, int]]) -> Shape:
    """The largest part of the mean squared difference, by the decomposition of Theil (1966, Applied Economic
    Forecasting, section 2.5): bias (square of the means' difference), unequal variation (square of the standard
    deviations' difference) and the rest, which the correlation leaves; ``none`` without a difference.
    """  # noqa: D205 - one sentence with its source
    parts = squared_differences(pairs)
    largest = max(parts, key=lambda shape: parts[shape])
    return largest if parts[largest] else "none"


def squared_differences(pairs: Sequence[tuple[int, int]]) -> dict[Shape, float]:
    """The mean squared difference in its three parts, which add up to it; see :func:`shape_of`."""
    if not pairs:
        return {"shift": 0.0, "scale": 0.0, "noise": 0.0}
    n = len(pairs)
    table = contingency_table(pairs, LABELS)
    spread = [math.sqrt(_variance([sum(row) for row in rows])) for rows in (table, list(zip(*table, strict=True)))]
    shift = (sum(judged - label for label, judged in pairs) / n) ** 2
    total = sum((judged - label) ** 2 for label, judged in pairs) / n
    scale = (spread[0] - spread[1]) ** 2
    return {"shift": shift, "scale": scale, "noise": max(total - shift - scale, 0.0)}


def _variance(counts: Sequence[int]) -> float:
    """Variance (by n) of labels of which there are so many each."""
    n = sum(counts)
    centre = sum(label * count for label, count in zip(LABELS, counts, strict=True)) / n
    return sum((label - centre) ** 2 * count for label, count in zip(LABELS, counts, strict=True)) / n


def _bias(differences: Sequence[int]) -> tuple[float | None, float | None, float | None]:
    """Mean, and its 95 % interval (Bland and Altman 1986), with the normal quantile: 30 are the least."""
    if not differences:
        return None, None, None
    centre = mean([float(difference) for difference in differences])
    if len(differences) == 1:
        return centre, None, None
    half = _CONFIDENCE * math.sqrt(variance(differences) / len(differences))
    return centre, centre - half, centre + half


def _kappa_interval(
    pairs: Sequence[tuple[int, int]], disagreement: Disagreement, kappa: float | None
) -> tuple[float, float] | tuple[None, None]:
    """95 % interval by the jackknife's error on Fisher's scale (1921, by the delta method), with Student's quantile.

    The plain interval of 30 labels covers 86 to 93 %, and its lower bound, which decides, is too high in 5 to 8 % of
    cases; this one's in 1 to 4 % (decision 0184).
    """
    error = _jackknife(pairs, disagreement) if kappa is not None else None
    if kappa is None or error is None:
        return None, None
    if abs(kappa) == 1:
        return kappa, kappa
    from scipy.stats import t  # half a second, only when judges are compared with people

    half = float(t.ppf(0.975, len(pairs) - 1)) * error / (1 - kappa**2)
    return math.tanh(math.atanh(kappa) - half), math.tanh(math.atanh(kappa) + half)


def _jackknife(pairs: Sequence[tuple[int, int]], disagreement: Disagreement) -> float | None:
    """Standard error of kappa (Efron and Tibshirani 1993, equation 11.5); None where it is undefined."""
    table, values = contingency_table(pairs, LABELS), []
    if len(pairs) <= 1:
        return None
    for label, judged in pairs:
        table[label - 1][judged - 1] -= 1
        without = cohen_kappa(table, disagreement)
        table[label - 1][judged - 1] += 1
        if without is None:
            return None
        values.append(without)
    centre, n = mean(values), len(values)
    return math.sqrt((n - 1) / n * math.fsum((value - centre) ** 2 for value in values))
