"""Which scores are measured several times, and how near their threshold such a score lies."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ratiba_action.model.values import mean

DEFAULT_BAND = 0.05
"""Until a judge's own noise has been measured."""
MIN_REPEATS = 30
"""Repeated measurements that an estimate of the noise needs: its relative error is then 13 % (one standard error)."""
_DEVIATIONS = 2
_PLACES = 9


@dataclass(frozen=True, slots=True)
class VotingRule:
    """A score near its threshold is measured several times, and the majority decides whether it passed.

    The rule looks at both sides of the threshold, and at the first measurement only: measuring again when a score
    fails would lift every pass rate. It is fixed when the run starts, the same for every arm.

    Args:
        band: how near, 0 to 1.
        votes: measurements in all; odd.
        measured: bands of metrics whose noise is known, by name and version.
        samples: measurements whose mean is a score, wherever it lies; with more than one, nothing is voted on.

    Raises:
        ValueError: a band, the number of votes or that of samples is outside its range.
    """

    band: float = DEFAULT_BAND
    votes: int = 3
    measured: Mapping[tuple[str, str], float] = field(default_factory=dict)
    samples: int = 1

    def __post_init__(self) -> None:
        for band in (self.band, *self.measured.values()):
            if not 0 <= band <= 1:
                raise ValueError(f"The band of a vote is {band!r}, and must be from 0 to 1.")
        if self.votes < 1 or self.votes % 2 == 0:
            raise ValueError(f"A vote of {self.votes!r} measurements has no majority; give an odd number.")
        if self.samples < 1:
            raise ValueError(f"A score is the mean of {self.samples!r} measurements, and must be of at least one.")

    def of(self, metric: str, version: str) -> "VotingRule":
        """The rule of one metric."""
        return VotingRule(self.measured.get((metric, version), self.band), self.votes, samples=self.samples)

    def calls_for_a_vote(self, value: float, threshold: float) -> bool:
        """Whether a first measurement is too near the threshold to count alone."""
        return self.votes > 1 and self.samples == 1 and round(abs(value - threshold), _PLACES) <= self.band


def noise_band(repeats: Iterable[Sequence[float]]) -> float | None:
    """Two standard deviations of a judge's own noise; at most 1, None for too few repeats.

    The pooled within-group variance: squared distances to each group's mean, by the degrees of freedom (ISO 5725-2,
    repeatability).

    Args:
        repeats: of each transcript, the scores that one judge gave it independently; an empty group says nothing.
    """
    squares, freedom = 0.0, 0
    for scores in filter(None, repeats):
        centre = mean(scores)
        squares += math.fsum((score - centre) ** 2 for score in scores)
        freedom += len(scores) - 1
    return min(_DEVIATIONS * math.sqrt(squares / freedom), 1.0) if freedom >= MIN_REPEATS else None
