import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from ratiba_action.verdict.paired_binary import mcnemar_p


@pytest.mark.parametrize(("lost", "won", "expected"), [(70, 59, 0.378688), (80, 59, 0.089452)])
def test_the_exact_test_gives_the_published_values(lost: int, won: int, expected: float) -> None:
    assert mcnemar_p(lost, won, mid=False) == pytest.approx(expected, abs=5e-7)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_exact_test_agrees_with_statsmodels(lost: int, won: int) -> None:
    expected = mcnemar([[3, lost], [won, 5]], exact=True).pvalue if lost + won else 1.0
    assert mcnemar_p(lost, won, mid=False) == pytest.approx(float(expected))


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_mid_p_value_is_below_the_exact_one_and_knows_no_direction(lost: int, won: int) -> None:
    assert 0 < mcnemar_p(lost, won) <= mcnemar_p(lost, won, mid=False)
    assert mcnemar_p(lost, won) == mcnemar_p(won, lost)


@given(st.integers(0, 60), st.integers(0, 60).filter(bool))
def test_the_mid_p_value_agrees_with_statsmodels_two_exact_ones(lost: int, won: int) -> None:
    """Mid-p is the middle of the exact value and of the one that does not count what was seen."""
    fewer, more = sorted((lost, won))
    tied = fewer == more
    seen = float(mcnemar([[0, fewer], [more, 0]], exact=True).pvalue)
    beyond = 2 * sum(math.comb(fewer + more, k) for k in range(fewer)) / 2 ** (fewer + more)
    assert mcnemar_p(lost, won) == pytest.approx(min(1.0, (seen + beyond) / 2) if not tied else 1.0)


def test_the_mid_p_value_of_fagerlands_example() -> None:
    """Airway hyper-responsiveness before and after a transplantation (Fagerland and others 2013, table 1)."""
    assert mcnemar_p(1, 7) == pytest.approx(0.039, abs=5e-4)
    assert mcnemar_p(1, 7, mid=False) == pytest.approx(0.070, abs=5e-4)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="no counts"):
        mcnemar_p(-1, 2)
