"""What a comparison of so many scenarios can see at all."""

import math


def minimum_detectable_effect(spread: float, pairs: int, *, significance: float = 0.05, power: float = 0.80) -> float:
    """The smallest true mean difference that a one-sided paired t test finds with the given power.

    Solved from the noncentral t distribution (Cohen 1988, chapter 2), exact for normal differences.

    Args:
        spread: standard deviation of the differences, 0 or more.
        pairs: how many differences there are, at least two.
        significance: of the one-sided test.
        power: chance of finding it.

    Returns:
        In the unit of ``spread``; 0 where nothing varies.

    Raises:
        ValueError: fewer than two pairs, or a negative or infinite spread.
    """
    from scipy import optimize, stats  # noqa: PLC0415 - half a second, only when a run is compared

    if pairs < 2 or not (0 <= spread < math.inf):  # noqa: PLR2004 - a spread needs two values
        raise ValueError(f"{pairs!r} pairs with the spread {spread!r} cannot be compared.")
    if not spread:
        return 0.0
    freedom = pairs - 1
    critical = stats.t.ppf(1 - significance, freedom)

    def shortfall(shift: float) -> float:
        return float(stats.nct.sf(critical, freedom, shift)) - power

    shift = optimize.brentq(shortfall, 0.0, 40.0 + float(critical))
    return float(shift) * spread / math.sqrt(pairs)


def scenarios_needed(
    effect: float, between: float, within: float = 0.0, *, significance: float = 0.05, power: float = 0.80
) -> int:
    """How many scenarios a two-sided paired comparison needs to see an effect (Miller 2024, equation 9).

    Args:
        effect: the mean difference to be seen, above 0.
        between: variance of the scenarios' true differences.
        within: variances of both arms' single measurements, added, each divided by its repeats.
        significance: of the two-sided test.
        power: chance of finding it.

    Raises:
        ValueError: the effect is not above 0.
    """
    from scipy import stats  # noqa: PLC0415 - half a second, only when a run is compared

    if not effect > 0:
        raise ValueError(f"The effect {effect!r} must be above 0.")
    z = float(stats.norm.ppf(1 - significance / 2) + stats.norm.ppf(power))
    return round(z * z * (between + within) / effect**2)
