"""Two measurements of the same scenarios that each passed or failed."""


def mcnemar_p(lost: int, won: int, *, mid: bool = True) -> float:
    """Two-sided p-value of McNemar's test from the pairs that changed sides.

    Args:
        lost: passed before and fail now.
        won: failed before and pass now.
        mid: True for the mid-p value (Fagerland, Lydersen and Laake 2013), False for the exact one, which is too
            cautious.

    Returns:
        Above 0 and at most 1; 1 where nothing changed sides.

    Raises:
        ValueError: a negative count.
    """
    from scipy import stats  # noqa: PLC0415 - half a second, only when a run is compared

    if lost < 0 or won < 0:
        raise ValueError(f"{lost!r} and {won!r} are no counts.")
    changed = lost + won
    if not changed:
        return 1.0
    fewer = min(lost, won)
    exact = 2 * float(stats.binom.cdf(fewer, changed, 0.5))
    if mid:
        exact -= float(stats.binom.pmf(fewer, changed, 0.5))
    return min(1.0, exact)
