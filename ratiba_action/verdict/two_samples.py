"""Do two independent samples come from one distribution?"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TwoSampleTest:
    """A test's statistic and its two-sided p-value."""

    statistic: float
    p: float


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> TwoSampleTest:
    """U of the first sample (Mann and Whitney 1947); exact for small samples without ties, else corrected for ties.

    Raises:
        ValueError: a sample is empty.
    """
    from scipy import stats  # noqa: PLC0415 - half a second, only when samples are compared

    _require(first, second)
    found = stats.mannwhitneyu(first, second, alternative="two-sided", method="auto")
    return TwoSampleTest(float(found.statistic), float(found.pvalue))


def kolmogorov_smirnov(first: Sequence[float], second: Sequence[float]) -> TwoSampleTest:
    """D, the largest distance of the two empirical distributions (Kolmogorov 1933, Smirnov 1948).

    Shown because readers ask for it; at 50 values a sample it finds little. Its p-value is exact for small samples
    where ties allow it.

    Raises:
        ValueError: a sample is empty.
    """
    from scipy import stats  # noqa: PLC0415 - half a second, only when samples are compared

    _require(first, second)
    with warnings.catch_warnings():
        # Of some ties SciPy says that it goes on with the asymptotic p-value, which is what is wanted.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = stats.ks_2samp(first, second)
    return TwoSampleTest(float(found.statistic), float(found.pvalue))


def _require(*samples: Sequence[float]) -> None:
    if not all(samples):
        raise ValueError("An empty sample cannot be compared.")
