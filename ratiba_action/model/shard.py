"""One part of a suite that several runs share. Alone, since a command that only decides need not load scenarios."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several runs that share a suite; ``number`` counts from 1.

    Raises:
        ValueError: the number lies outside 1 to the count.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise ValueError(f"there is no shard {self.number} of {self.count}")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"
