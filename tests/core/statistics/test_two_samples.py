import pytest

from ratiba_action.core.statistics.two_samples import kolmogorov_smirnov, mann_whitney


@pytest.mark.parametrize(("first", "distance", "p"), [([1.01, 2.01], 1 / 3, 1.0), ([0.99, 1.99], 2 / 3, 0.6)])
def test_kolmogorov_smirnov_gives_the_published_values(first: list[float], distance: float, p: float) -> None:
    found = kolmogorov_smirnov(first, [1, 2, 3])
    assert (found.statistic, found.p) == pytest.approx((distance, p))


def test_mann_whitney_gives_the_published_value() -> None:
    """Ages at diagnosis of diabetes, the example of Corder and Foreman 2014 that SciPy's manual works through."""
    males, females = [19, 22, 16, 29, 24], [20, 11, 17, 12]
    found = mann_whitney(males, females)
    assert (found.statistic, found.p) == pytest.approx((17, 0.1111111))


def test_an_empty_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="empty sample"):
        mann_whitney([], [1.0])
    with pytest.raises(ValueError, match="empty sample"):
        kolmogorov_smirnov([1.0], [])
