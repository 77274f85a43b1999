"""Do two independent samples come from one distribution, how far apart are they, and is one worse at any look?"""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TwoSampleTest:
    """A test's statistic and its two-sided p-value."""

    statistic: float
    p: float


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> TwoSampleTest:
    """U of the first sample (Mann and Whitney 1947); exact for small samples without ties, else corrected for ties.

    Where all values are the same, p is 1. SciPy 1.18 divides by their variance of 0 and returns NaN.

    Raises:
        ValueError: a sample is empty.
    """
    from scipy import stats  # half a second, only when samples are compared

    _require(first, second)
    if len({*first, *second}) == 1:
        return TwoSampleTest(len(first) * len(second) / 2, 1.0)
    found = stats.mannwhitneyu(first, second, alternative="two-sided", method="auto")
    return TwoSampleTest(float(found.statistic), float(found.pvalue))


def kolmogorov_smirnov(first: Sequence[float], second: Sequence[float]) -> TwoSampleTest:
    """D, the largest distance of the two empirical distributions (Kolmogorov 1933, Smirnov 1948).

    Shown because readers ask for it; at 50 values a sample it finds little. Its p-value is exact for small samples
    where ties allow it.

    Raises:
        ValueError: a sample is empty.
    """
    from scipy import stats  # half a second, only when samples are compared

    _require(first, second)
    with warnings.catch_warnings():
        # Of some ties SciPy says that it goes on with the asymptotic p-value, which is what is wanted.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = stats.ks_2samp(first, second)
    return TwoSampleTest(float(found.statistic), float(found.pvalue))


@dataclass(frozen=True, slots=True)
class CliffsDelta:
    """How often a value of the first sample is above one of the second, less how often it is below.

    Args:
        delta: -1 (every value of the first sample is lower) to 1.
        low: of its interval; None where a sample has a single value.
    """

    delta: float
    low: float | None = None
    high: float | None = None


NEGLIGIBLE = 0.147
"""Sizes of Cliff's delta below this are called negligible (Romano et al. 2006)."""


def cliffs_delta(first: Sequence[float], second: Sequence[float]) -> CliffsDelta:
    """Cliff's delta (Cliff 1993) with his asymmetric 95 % interval (Cliff 1996, Feng and Cliff 2004).

    The quantile is Student's with two degrees of freedom less than there are values, as in the R package effsize. Where
    the samples do not overlap there is no variance to estimate; the interval then begins at ``(b - z**2) / (b + z**2)``
    with ``b`` the smaller sample's size, as Feng and Cliff do.

    Raises:
        ValueError: a sample is empty.
    """
    import numpy as np  # the runner's bare Python has none
    from scipy import stats  # half a second, only when samples are compared

    _require(first, second)
    ordered = np.sort(np.asarray(second, dtype=float)), np.sort(np.asarray(first, dtype=float))
    rows = _dominance(np.asarray(first, dtype=float), ordered[0])
    columns = -_dominance(np.asarray(second, dtype=float), ordered[1])
    n, m, delta = len(first), len(second), float(rows.mean())
    if min(n, m) < 2:  # noqa: PLR2004 - a variance needs two values
        return CliffsDelta(delta)
    z = float(stats.t.ppf(0.975, n + m - 2))
    if abs(delta) == 1:
        inner = (min(n, m) - z * z) / (min(n, m) + z * z)
        return CliffsDelta(delta, *((inner, 1.0) if delta > 0 else (-1.0, -inner)))
    # A cell is -1, 0 or 1, so its square is whether it is no tie.
    ties = sum(int(np.searchsorted(ordered[0], v, "right") - np.searchsorted(ordered[0], v)) for v in first)
    cells = n * m - ties - n * m * delta**2
    squares = m * m * float(((rows - delta) ** 2).sum()) + n * n * float(((columns - delta) ** 2).sum())
    found = (squares - cells) / (n * m * (n - 1) * (m - 1))
    variance = max(found, (1 - delta**2) / (n * m - 1))
    middle = delta - delta**3
    reach = z * math.sqrt(variance * ((1 - delta**2) ** 2 + z * z * variance))
    scale = 1 - delta**2 + z * z * variance
    return CliffsDelta(delta, max(-1.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale))


def _dominance(values: "NDArray[np.float64]", ordered: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Of each value, the share of an ordered sample below it less the share above it."""
    below, upto = ordered.searchsorted(values), ordered.searchsorted(values, "right")
    found: NDArray[np.float64] = (below - (len(ordered) - upto)) / len(ordered)
    return found


def _require(*samples: Sequence[float]) -> None:
    if not all(samples):
        raise ValueError("An empty sample cannot be compared.")


def detectable_delta(first: int, second: int) -> float:
    """The smallest Cliff's delta that a two-sided Mann-Whitney test at 0.05 finds with a power of 0.80, without ties.

    The normal approximation with the variance under no difference, ``(n + m + 1) / (3 n m)`` (Noether 1987).

    Args:
        first: size of one sample, at least 1.

    Returns:
        0 to 1; 1 where such samples find nothing.
    """
    from scipy import stats  # half a second, only when samples are compared

    quantiles = float(stats.norm.isf(0.025) + stats.norm.ppf(0.80))
    return min(1.0, quantiles * math.sqrt((first + second + 1) / (3 * first * second)))


BETS = 10
"""How many fixed bets share the capital of an e-value; each is smaller than the one before by the root of two."""

_ROUNDING = 1e-9
"""How far below its least a mean of values may be computed."""


def concurrent_differences(values: Iterable[tuple[bool, float]]) -> tuple[float, ...]:
    """Means of the first sample less means of the second, of stretches of time in which both have values.

    Values that arrive together are compared with each other, so that an hour in which everything is worse is no
    difference. A stretch ends as soon as both samples have a value. Which sample a value belongs to must not depend on
    the value; then the expectation of each difference is the difference of the expectations.

    Args:
        values: in the order of time; True is the first sample. An unfinished stretch at the end is left out.
    """
    found: list[float] = []
    sums, counts = [0.0, 0.0], [0, 0]
    for first, value in values:
        sums[first] += value
        counts[first] += 1
        if all(counts):
            found.append(sums[1] / counts[1] - sums[0] / counts[0])
            sums, counts = [0.0, 0.0], [0, 0]
    return tuple(found)


def log_e_value(values: Sequence[float], minimum: float) -> float:
    """Logarithm of the evidence that the expectation of bounded values is above zero; valid after every value.

    The capital of a gambler who begins with 1 and bets fixed shares of it on each value. While no conditional
    expectation is above zero it is a non-negative supermartingale, so it ever reaches ``1 / level`` with a probability
    of at most ``level``, however often one looks (Ville 1939). Capital is spread evenly over ``BETS`` shares (a
    discrete mixture, as in Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting").

    Args:
        values: none below ``-least``; their order does not matter.
        minimum: above zero.

    Returns:
        0 without values; minus infinity where every bet is lost.

    Raises:
        ValueError: a value is below ``-least``, or not a number.
    """
    import numpy as np  # the runner's bare Python has none

    found = np.asarray(values, dtype=float)
    if not (found >= -minimum - _ROUNDING).all():
        raise ValueError(f"a value is below {-minimum:g}, or not a number")
    bets = 2.0 ** (-np.arange(BETS) / 2) / minimum
    with np.errstate(divide="ignore"):
        capital = np.log1p(np.maximum(np.multiply.outer(bets, found), -1.0)).sum(axis=1)
    return float(np.logaddexp.reduce(capital) - math.log(BETS))
