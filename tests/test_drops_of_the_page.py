"""The first tables of docs/statistics.md are computed again: what a suite can find, and what that costs at most."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ratiba_action.model.comparison import Pair, Rules
from ratiba_action.verdict.few_scenarios import detectable_by_few, rounds_of_few
from ratiba_action.verdict.judge_levels import detectable_by_coin
from ratiba_action.verdict.sign_flip import look_levels

PAGE = (Path(__file__).parent.parent / "docs/statistics.md").read_text("utf-8")
RULES = Rules()
SYSTEM, NOISES = 0.08, (0.05, 0.10, 0.20)
SYSTEM_USD, JUDGE_USD = 0.01, 0.01
ENDS_ABOVE = (0.5, 0.3, 0.15, 0.15, 0.15)
"""p-values after each round above which no further trials are run (the page's *Levels and stopping*)."""


def rows(name: str) -> Iterator[list[float]]:
    """The numbers of a table, line by line."""
    table = PAGE.partition(f"<!-- table: {name} -->")[2].partition(f"<!-- end: {name} -->")[0]
    for line in table.strip().splitlines()[2:]:
        yield [float(number) for number in re.findall(r"[\d.]+", line.replace(",", ""))]


def power(drop: float, noise: float, scenarios: int) -> float:
    """The share of changes with this drop that a confirmation blocks after one run of the base, for normal scores.

    Without the trials of single scenarios, and the test for noise from run to run, which makes the drop about 3 %
    larger.
    """
    random, error = np.random.default_rng(1), math.hypot(noise, SYSTEM) * math.sqrt(2 / scenarios)
    size = 40_000
    going = drop / error + random.standard_normal(size) > stats.norm.isf(RULES.single_run_screen_level)
    total, blocked = np.zeros(size), np.zeros(size, bool)
    levels = look_levels(RULES.confirm_level, RULES.confirming_trials)
    for number, (level, end) in enumerate(zip(levels, ENDS_ABOVE, strict=True), 1):
        total += drop / error + random.standard_normal(size)
        statistic = total / math.sqrt(number)
        blocked |= going & (statistic >= stats.norm.isf(level))
        going &= ~blocked & (statistic >= stats.norm.isf(end))
    return float(blocked.mean())


def test_from_ten_scenarios_on_the_first_table_has_the_drops_that_four_of_five_confirmations_find() -> None:
    many = [row for row in rows("drops") if row[0] >= RULES.min_scenarios]
    assert [row[0] for row in many] == [10, 20, 50, 100, 200]
    for scenarios, *drops, _trials, _usd in many:
        for drop, noise in zip(drops, NOISES, strict=True):
            near = 0.5 + 0.02 * drop  # shown in points or halves of them, and what run to run adds
            less, more = (power((drop + shift) / 100, noise, int(scenarios)) for shift in (-near, near))
            assert less < RULES.detectable_power < more, (scenarios, noise)


def test_with_fewer_scenarios_the_first_table_has_the_drops_that_the_gate_itself_reports() -> None:
    few = [row for row in rows("drops") if row[0] < RULES.min_scenarios]
    assert [row[0] for row in few] == [1, 2, 3, 5, 9]
    for scenarios, *drops, _trials, _usd in few:
        for drop, noise in zip(drops, NOISES, strict=True):
            apart = math.hypot(noise, SYSTEM) / math.sqrt(2)
            pairs = [
                Pair(f"s{number}", critical=False, base=(0.8,), head=(0.8,), fresh_base=(0.8 - apart, 0.8 + apart))
                for number in range(int(scenarios))
            ]
            assert detectable_by_few(pairs, RULES) == pytest.approx(drop / 100, abs=0.006), (scenarios, noise)


def test_further_trials_and_their_price_are_those_of_all_rounds() -> None:
    for scenarios, *_, trials, usd in rows("drops"):
        few = scenarios < RULES.min_scenarios
        rounds = rounds_of_few(int(scenarios), RULES) if few else RULES.confirming_trials
        assert trials == 2 * rounds * scenarios
        assert usd == pytest.approx(trials * (SYSTEM_USD + JUDGE_USD))


def test_drops_of_a_judge_of_0_or_1_are_those_that_validate_reports() -> None:
    found = list(rows("drops of 0 or 1"))
    assert [row[0] for row in found] == [10, 20, 50, 100, 200]
    for scenarios, one, three, usd_of_one, usd_of_three in found:
        drops = [round(detectable_by_coin(0.8, int(scenarios), samples) * 100) for samples in (1, 3)]
        assert [one, three] == drops
        trials = 2 * RULES.confirming_trials * scenarios
        assert [usd_of_one, usd_of_three] == [
            pytest.approx(trials * (SYSTEM_USD + samples * JUDGE_USD)) for samples in (1, 3)
        ]
