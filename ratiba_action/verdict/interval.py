"""Confidence intervals of a mean and of a share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, stdev

from ratiba_action.model.values import mean


def minimum_detectable_effect(spread: float, pairs: float, *, power: float = 0.80) -> float:
    """The smallest true mean difference that a one-sided paired t test at 0.05 finds with the given power.

    Solved from the noncentral t distribution (Cohen 1988, chapter 2), exact for normal differences.

    Args:
        spread: standard deviation of the differences, 0 or more.
        pairs: how many differences there are, at least two; of families their effective number.

    Returns:
        In the unit of ``spread``; 0 where nothing varies.

    Raises:
        ValueError: fewer than two pairs, or a negative or infinite spread.
    """
    from scipy import optimize, special  # a third of a second, only when a run is compared

    if pairs < 2 or not (0 <= spread < math.inf):  # noqa: PLR2004 - a spread needs two values
        raise ValueError(f"{pairs!r} pairs with the spread {spread!r} cannot be compared.")
    if not spread:
        return 0.0
    freedom = pairs - 1
    critical = float(special.stdtrit(freedom, 0.95))

    def shortfall(shift: float) -> float:
        return 1.0 - float(special.nctdtr(freedom, shift, critical)) - power

    maximum = critical + 1.0
    while shortfall(maximum) < 0:  # far beyond the answer scipy's distribution is not a number
        maximum *= 2
    shift = optimize.brentq(shortfall, 0.0, maximum)
    return float(shift) * spread / math.sqrt(pairs)


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the truth lies, with the confidence that was asked for."""

    low: float
    high: float


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's interval of the mean (Student 1908), two-sided.

    Args:
        values: independent measurements, at least two.
        confidence: such as 0.95.

    Raises:
        ValueError: fewer than two values.
    """
    from scipy import special  # a quarter of a second, only when a run is compared

    _require_two(values)
    middle, error = mean(values), standard_error(values)
    reach = float(special.stdtrit(len(values) - 1, (1 + confidence) / 2)) * error
    return Interval(middle - reach, middle + reach)


def mean_below_p(values: Sequence[float], limit: float) -> float:
    """One-sided p-value of the hypothesis that the true mean is at least ``limit`` (Student 1908).

    Args:
        values: independent measurements, at least one; what does not vary is taken as it is.
    """
    from scipy import special  # a quarter of a second, only where a limit of a mean is configured

    if len(set(values)) < 2:  # noqa: PLR2004 - nothing varies
        return 0.0 if mean(values) < limit else 1.0
    return float(special.stdtr(len(values) - 1, (mean(values) - limit) / standard_error(values)))


def wilson_interval(successes: int, trials: int) -> Interval:
    """Score interval of a share with 95 % confidence (Wilson 1927), two-sided.

    Raises:
        ValueError: no trials, or more successes than trials.
    """
    if not 0 <= successes <= trials or not trials:
        raise ValueError(f"{successes!r} of {trials!r} is no share.")
    z = NormalDist().inv_cdf(0.975)
    share, spread = successes / trials, z * z / trials
    centre = (share + spread / 2) / (1 + spread)
    reach = z / (1 + spread) * math.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    low = 0.0 if successes == 0 else centre - reach
    return Interval(low, 1.0 if successes == trials else centre + reach)


def standard_error(values: Sequence[float]) -> float:
    """Standard error of the mean, from the sample's own spread; at least two values."""
    return stdev(values) / math.sqrt(len(values))


def _require_two(values: Sequence[float]) -> None:
    if len(values) < 2:  # noqa: PLR2004 - a spread needs two values
        raise ValueError(f"{len(values)} value has no spread; give at least two.")
