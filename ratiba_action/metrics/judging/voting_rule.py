"""Which scores are measured several times, and which of the measurements counts."""

from collections.abc import Sequence
from dataclasses import dataclass

_PLACES = 9


@dataclass(frozen=True, slots=True)
class VotingRule:
    """A score near its threshold is measured several times and the median counts.

    The rule looks at both sides of the threshold: asking again only when a score fails would lift the arm that gets
    it. It is fixed when the run starts, the same for every arm.

    Args:
        band: how near, 0 to 1.
        votes: measurements in all; odd.

    Raises:
        ValueError: the band or the number of votes is outside its range.
    """

    band: float = 0.05
    votes: int = 3

    def __post_init__(self) -> None:
        if not 0 <= self.band <= 1:
            raise ValueError(f"The band of a vote is {self.band!r}, and must be from 0 to 1.")
        if self.votes < 1 or self.votes % 2 == 0:
            raise ValueError(f"A vote of {self.votes!r} measurements has no median; give an odd number.")

    def calls_for_a_vote(self, value: float, threshold: float) -> bool:
        """Whether a first measurement is too near the threshold to count alone."""
        return self.votes > 1 and round(abs(value - threshold), _PLACES) <= self.band


def median_vote(values: Sequence[float]) -> int:
    """Position of the first of an odd number of values that is their median."""
    return list(values).index(sorted(values)[len(values) // 2])
