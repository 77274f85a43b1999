import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from ratiba_action.verdict.rules.metric_means import holm


def test_the_published_example() -> None:
    assert holm((0.01, 0.04, 0.03, 0.005)) == pytest.approx((0.03, 0.06, 0.06, 0.02))


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_it_agrees_with_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(tuple(multipletests(p_values, method="holm")[1]))


def test_no_test_needs_no_adjustment() -> None:
    assert holm(()) == ()


def test_what_is_no_p_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no p-value"):
        holm((0.2, 1.5))
