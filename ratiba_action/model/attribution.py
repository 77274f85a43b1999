"""Which lines of a change make scenarios fail."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ratiba_action.model.values import Usd


class Finding(StrEnum):
    """What is known of the cause of a scenario's failure."""

    FOUND = "found"
    """The parts fail together, no smaller subset of them that was tried does, and without them the scenario passes."""
    SEVERAL = "several"
    """Each group of parts fails on its own. Without all of them the scenario passes, unless a reason says otherwise."""
    ONE_OF = "one_of"
    """The cause is among these parts; no further step could tell them apart."""
    NONE = "none"
    """The base fails as well, or the whole change passes: no part of the change is the cause."""
    NOT_RESOLVED = "not_resolved"
    """Nothing is certain enough to be said."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """The cause of one scenario's failure.

    Args:
        causes: groups of parts, by position. A single one, unless several groups fail on their own.
        steps: how often the scenario was run with parts of the change.
        why: why no more is known; empty where everything is.
        by_chance: whether the failure varies, so that it was repeated.
        unrecorded: whether the scenario lacks a recorded answer, rather than fails.
        request: what differs from the base in the first request that has no recorded answer; empty where that is not
            known.
    """

    finding: Finding
    causes: tuple[tuple[int, ...], ...] = ()
    steps: int = 0
    why: str = ""
    by_chance: bool = False
    unrecorded: bool = False
    request: str = ""

    @property
    def parts(self) -> tuple[int, ...]:
        """Every part of every group, in order."""
        return tuple(sorted({part for cause in self.causes for part in cause}))


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """Neighbouring changed lines of one file, or a whole file.

    Args:
        line: of the file as the change has it, from 1, where the part begins.
        removed: the base's lines.
        whole: the file was added, removed, or is no text.
        prompt: it is of a prompt's text.
    """

    path: str
    line: int = 1
    removed: str = ""
    added: str = ""
    whole: bool = False
    prompt: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """What makes each failing scenario fail.

    Args:
        parts: of the change, in order of path and line.
        scenarios: the cause of each, by its id; positions are those of ``parts``.
        runs: how often the scenarios were run with parts of the change.
        spent: for these runs; a part of the run's spending.
        left_out: ids of failing scenarios that were not explained.
    """

    parts: tuple[ChangedPart, ...] = ()
    scenarios: Mapping[str, Attribution] = field(default_factory=dict)
    runs: int = 0
    spent: Usd = field(default_factory=lambda: Usd(0))
    left_out: tuple[str, ...] = ()
