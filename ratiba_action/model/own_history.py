"""The history of one scenario's own scores, and the lower bound that a new score must reach by it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

MIN_CONFIDENCE, MAX_CONFIDENCE = 0.5, 0.999


def rank_of_bound(count: int, confidence: float) -> int:
    """Which of ``count`` earlier values, the lowest being 1, is the lower prediction bound of the next; 0 for none.

    Distribution-free (Fligner and Wolfe 1976; Meeker, Hahn and Escobar, Statistical Intervals, 2nd ed. 2017,
    chapter 5): where all values come from one process, the next is below the value of rank r with a chance of at most
    r / (count + 1), whatever their distribution and however many of them are equal.

    Args:
        count: of the earlier values, 0 or more.
        confidence: that the next value is not below the bound, below 1.
    """
    # As it is written: 1 - 0.95 is not 0.05 for a computer, and 20 times that would be 0.
    return int((count + 1) * (1 - Decimal(str(confidence))))


def lower_prediction_bound(values: Sequence[float], confidence: float) -> float | None:
    """What the next value is not below with this confidence; None with too few values for it.

    Args:
        values: independent earlier ones, in any order.
        confidence: such as 0.95.
    """
    rank = rank_of_bound(len(values), confidence)
    return sorted(values)[rank - 1] if rank else None


@dataclass(frozen=True, slots=True)
class HistoryBound:
    """What the history has of one metric of a scenario.

    Args:
        low: what a score must reach; None with too few values.
    """

    metric: str
    version: str
    values: int
    low: float | None = None


@dataclass(frozen=True, slots=True)
class Statistical:
    """A scenario's judged scores pass while they are not below the lower bound of their own history.

    Args:
        values: how many of the latest values are the history; None where ``days`` is given.
        days: how many days of it are; None where ``values`` is given.
        confidence_level: of the bound, from ``MIN_CONFIDENCE`` to ``MAX_CONFIDENCE``.
        metrics: labels of the assertions that it applies to; empty for every judged one.
        branch: whose history was read when the run began; empty where none was.
    """

    values: int | None = 20
    days: int | None = None
    confidence_level: float = 0.95
    metrics: tuple[str, ...] = ()
    branch: str = ""
    bounds: tuple[HistoryBound, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a confidence that no number of values gives: a report that somebody else wrote may say any.

        Raises:
            ValueError: says which.
        """
        if not MIN_CONFIDENCE <= self.confidence_level <= MAX_CONFIDENCE:
            allowed = f"from {MIN_CONFIDENCE:g} to {MAX_CONFIDENCE:g}"
            raise ValueError(f"confidence_level is {self.confidence_level!s:.20}, and must be {allowed}")

    @property
    def minimum(self) -> int:
        """The fewest values from which there is a bound of this confidence."""
        return math.ceil(1 / (1 - Decimal(str(self.confidence_level)))) - 1

    @property
    def needed(self) -> int:
        """How many values there must be: a whole window of values, or the fewest that suffice."""
        return self.values or self.minimum

    def applies_to(self, metric: str) -> bool:
        """Whether a judged score of this label is meant."""
        return not self.metrics or metric in self.metrics

    def bound_of(self, metric: str, version: str) -> HistoryBound:
        """What was found of a metric; no values where nothing was."""
        found = (bound for bound in self.bounds if (bound.metric, bound.version) == (metric, version))
        return next(found, HistoryBound(metric, version, 0))

    def threshold(self, metric: str, version: str, otherwise: float) -> float:
        """What a score must reach: the bound, or ``otherwise`` where there is none."""
        low = self.bound_of(metric, version).low
        return otherwise if low is None else low
