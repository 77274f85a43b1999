import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ratiba_action.verdict.sign_flip import look_levels

OBRIEN_FLEMING = {2: 1.977, 3: 2.004, 4: 2.024, 5: 2.040}
POCOCK = {2: 2.178, 3: 2.289, 4: 2.361, 5: 2.413}
"""Jennison and Turnbull 2000, tables 2.1 and 2.3, at 0.05 two-sided."""
WANG_TSIATIS = {
    0.1: {2: 1.994, 3: 2.026, 4: 2.050, 5: 2.068, 9: 2.113},
    0.25: {2: 2.038, 3: 2.083, 4: 2.113, 5: 2.136, 6: 2.154},
    0.4: {2: 2.111, 3: 2.186, 4: 2.233, 5: 2.267, 7: 2.313},
}
"""The same book, table 2.9: shapes between these two. The tests of the R package gsDesign quote 9, 6 and 7 looks."""
REFERENCE = json.loads((Path(__file__).parent / "wang_tsiatis_boundaries.json").read_text("utf-8"))


@pytest.mark.parametrize(("shape", "published"), [(0.0, OBRIEN_FLEMING), (0.5, POCOCK), *WANG_TSIATIS.items()])
def test_the_last_bound_is_the_published_constant(shape: float, published: dict[int, float]) -> None:
    for looks, constant in published.items():
        assert stats.norm.isf(look_levels(0.025, looks, shape)[-1]) == pytest.approx(constant, abs=0.0006)


@pytest.mark.parametrize("case", REFERENCE["cases"], ids="{0[looks]} looks, {0[level]}, {0[shape]}".format)
def test_every_bound_is_that_of_another_implementation(case: dict[str, Any]) -> None:
    levels = look_levels(case["level"], case["looks"], case["shape"])
    assert stats.norm.isf(levels) == pytest.approx(case["bounds"], abs=2e-4)


def test_a_single_look_has_the_whole_level() -> None:
    assert look_levels(0.025, 1) == pytest.approx((0.025,))


def test_earlier_looks_ask_for_more() -> None:
    levels = look_levels(0.025, 3)
    assert levels == pytest.approx((0.00107, 0.00896, 0.02102), abs=2e-5)
    assert list(levels) == sorted(levels)


@pytest.mark.parametrize("shape", [0.0, 0.125, 0.5])
def test_all_looks_together_keep_the_level_in_simulated_data(shape: float) -> None:
    sums = np.random.default_rng(3).standard_normal((400_000, 3)).cumsum(axis=1) / np.sqrt([1, 2, 3])
    rejected = (sums >= stats.norm.isf(look_levels(0.025, 3, shape))).any(axis=1).mean()
    assert rejected == pytest.approx(0.025, abs=4 * 0.00025)


@pytest.mark.parametrize(("level", "looks"), [(0.025, 0), (0.0, 3), (0.5, 2)])
def test_what_has_no_boundary_is_refused(level: float, looks: int) -> None:
    with pytest.raises(ValueError, match="have no boundary"):
        look_levels(level, looks)
