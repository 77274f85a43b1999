"""What no comparison can beat: the fewest further trials at no change, for the drops that must be found.

Run: ``python -m benchmarks.information_bound``; it prints the tables of decision 0193 in a minute. Scores are normal,
and their noise is known. The best procedure is found by dynamic programming (Eales and Jennison 1992; Barber and
Jennison 2002): of all rules that look after each round of further trials, the one with the fewest trials at no change
among those that block as few unchanged changes and miss as few drops. Like the gate's, it decides by further trials
alone, at the level 2.5 % whatever the planned trials were, and may stop by both. Its grid makes powers exact to about
two points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

LEVEL, ROUNDS = 0.025, 5
_STATES, _PLANNED = 201, 31
"""Points of the grids of further and of planned evidence."""
_COSTS = (60.0, 130.0, 270.0, 570.0, 1200.0)
"""Trials that a missed drop is worth: each makes one row."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Suite:
    """What a change and its noise are.

    Args:
        drop: of the mean, 0 to 1.
        base: standard deviation of a base's score from run to run.
        head: the same of the change's.
        base_runs: planned runs of the base.
    """

    scenarios: int
    drop: float
    base: float
    head: float
    base_runs: int

    @property
    def planned(self) -> float:
        """The drop in standard errors of the planned trials."""
        return self.drop / math.sqrt((self.head**2 + self.base**2 / self.base_runs) / self.scenarios)

    @property
    def round(self) -> float:
        """The same in one round of further trials."""
        return self.drop / math.sqrt((self.head**2 + self.base**2) / self.scenarios)

    def oracle(self, rounds: int = ROUNDS) -> float:
        """The chance that a z test finds the drop that always runs so many rounds, and needs no alarm."""
        return float(special.ndtr(self.round * math.sqrt(rounds) + special.ndtri(LEVEL)))


NOISE, COIN_BASE, COIN_HEAD = 0.128, math.sqrt(0.139), math.sqrt(0.194)
"""Of judge and system together; of a judge of 0 or 1 about conversations worth 0.70 to 0.95, and 0.10 less."""
SUITES = (
    ("normal judge, drop of 5 points, three runs of the base", Suite(50, 0.05, NOISE, NOISE, 3)),
    ("normal judge, drop of 5 points, one run of the base", Suite(50, 0.05, NOISE, NOISE, 1)),
    ("judge of 0 or 1, drop of 10 points, three runs of the base", Suite(50, 0.10, COIN_BASE, COIN_HEAD, 3)),
)


def bound(suite: Suite, rounds: int = ROUNDS, costs: Sequence[float] = _COSTS) -> list[tuple[float, float]]:
    """Pairs of the share of drops that are found, and the fewest further trials at no change that this takes.

    Args:
        suite: what is compared.
        rounds: of further trials at most, each of one trial of every scenario on either arm.
        costs: trials that a missed drop is worth; a larger one finds more drops.
    """
    planned = np.linspace(-3, 3 + 2 * suite.planned, _PLANNED)
    step = planned[1] - planned[0]
    at_none = np.exp(-(planned**2) / 2) / math.sqrt(2 * math.pi) * step
    at_drop = np.exp(-((planned - suite.planned) ** 2) / 2) / math.sqrt(2 * math.pi) * step
    found = []
    for cost in costs:
        missing = cost * at_drop / at_none
        low, high = np.full(_PLANNED, 1e-3), np.full(_PLANNED, 1e12)
        for _ in range(18):  # what a false block must be worth for the level to hold, by bisection
            middle = np.sqrt(low * high)
            too_many = _best(suite, rounds, missing, middle)[1] > LEVEL
            low, high = np.where(too_many, middle, low), np.where(too_many, high, middle)
        trials, _, missed = _best(suite, rounds, missing, high)
        found.append((1 - float(missed @ at_drop), float(trials @ at_none)))
    return found


def _best(suite: Suite, rounds: int, missing: Numbers, blocking: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Of the best rule, by planned evidence: trials and blocks at no change, and drops that it misses.

    Args:
        missing: price of a missed drop.
        blocking: price of a block at no change.
    """
    reach = 4 * math.sqrt(rounds)
    width = (2 * reach + suite.round * rounds) / _STATES
    sums = (np.arange(_STATES) - round(reach / width)) * width
    steps = np.exp(-((sums[:, None] - sums[None, :]) ** 2) / 2)
    steps /= steps.sum(axis=1, keepdims=True)
    value = trials = blocks = missed = np.zeros((_STATES, missing.size))
    for look in range(rounds, -1, -1):
        likelihood = np.exp(suite.round * sums - look * suite.round**2 / 2)[:, None]
        accepted = likelihood * missing
        rejects = (blocking < accepted) & (look > 0)
        stopped = np.where(rejects, blocking, accepted)
        goes_on = 2 * suite.scenarios + steps @ value < stopped if look < rounds else np.zeros_like(rejects)
        trials = np.where(goes_on, 2 * suite.scenarios + steps @ trials, 0)
        blocks = np.where(goes_on, steps @ blocks, rejects)
        missed = np.where(goes_on, steps @ missed, np.where(rejects, 0, likelihood))
        value = np.where(goes_on, 2 * suite.scenarios + steps @ value, stopped)
    start = int(np.argmin(np.abs(sums)))
    return trials[start], blocks[start], missed[start]


def main() -> None:
    """Print the tables."""
    for title, suite in SUITES:
        print(f"\n{title}; a z test over all {ROUNDS} rounds finds {suite.oracle():.0%}\n")
        print("| drops that are found | further trials at no change, at least |\n|---|---|")
        for power, trials in bound(suite):
            print(f"| {power:.0%} | {trials:.0f} |", flush=True)


if __name__ == "__main__":
    main()
