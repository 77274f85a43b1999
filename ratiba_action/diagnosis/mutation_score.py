"""What a suite says of each mutant, and the share of them that it notices.

Whether a mutant was reached and made a difference follows the model of reachability, infection and propagation (Voas,
"PIE", IEEE TSE 18(8), 1992). A mutant that made a difference which no output shows may be a hole of the suite as well
as an equivalent program: it counts, but for calls of a logger, which are not meant to be seen.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from ratiba_action.diagnosis.mutants import Mutant
from ratiba_action.verdict.interval import Interval, wilson_interval


class Fate(StrEnum):
    """What the suite says of a mutant."""

    KILLED = "killed"
    """A scenario fails on it that passes without it."""
    SURVIVED = "survived"
    """An output of a scenario changed, and nothing failed."""
    UNEXERCISED = "unexercised"
    """No scenario comes to where it would make a difference."""
    UNOBSERVED = "unobserved"
    """It ran, and no output that the scenarios look at changed: an assertion or a query in ``rows`` is missing."""
    EQUIVALENT = "equivalent"
    """A call of a logger is gone or says something else, which no output is meant to show. Not counted."""
    NEEDS_MODEL = "needs_model"
    """A request leaves the recordings before anything fails: only a live run can tell. Not counted."""
    NOT_MEASURED = "not_measured"
    """Time, money or a service was missing. Not counted."""


class Notice(StrEnum):
    """How one scenario ended on a mutant that it passes without."""

    FAILED = "failed"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NEEDS_MODEL = "needs_model"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True, slots=True)
class MutantResult:
    """A mutant, what the suite says of it, and the scenarios that killed it."""

    mutant: Mutant
    fate: Fate
    killed_by: tuple[str, ...] = ()


def judge_mutant(mutant: Mutant, notices: Mapping[str, Notice]) -> MutantResult:
    """What the suite says of a mutant.

    Args:
        notices: of each scenario that could notice it, by id; those that fail without it are not among them.
    """
    killers = tuple(sorted(name for name, notice in notices.items() if notice is Notice.FAILED))
    seen = {*notices.values()}
    if killers:
        return MutantResult(mutant, Fate.KILLED, killers)
    if Notice.NOT_MEASURED in seen:
        return MutantResult(mutant, Fate.NOT_MEASURED)
    if Notice.NEEDS_MODEL in seen:
        return MutantResult(mutant, Fate.NEEDS_MODEL)
    if Notice.CHANGED in seen:
        return MutantResult(mutant, Fate.SURVIVED)
    if not (seen and mutant.differs):
        return MutantResult(mutant, Fate.UNEXERCISED)
    return MutantResult(mutant, Fate.UNOBSERVED if mutant.seen else Fate.EQUIVALENT)


@dataclass(frozen=True, slots=True)
class MutationScore:
    """The share of mutants that the suite kills.

    Args:
        counted: mutants that were killed, survived, or were not exercised or observed.
        interval: of the share at 95 % (Wilson 1927); None where nothing was counted.
    """

    killed: int
    counted: int
    interval: Interval | None

    @property
    def share(self) -> float | None:
        """From 0 to 1; None where nothing was counted."""
        return self.killed / self.counted if self.counted else None


OPEN = frozenset({Fate.SURVIVED, Fate.UNEXERCISED, Fate.UNOBSERVED})
"""Results that show a hole of the suite."""
_COUNTED = OPEN | {Fate.KILLED}


def score_of(results: Iterable[MutantResult]) -> MutationScore:
    """The mutation score; what is equivalent, needs a model or was not measured is left out."""
    counted = [result.fate for result in results if result.fate in _COUNTED]
    killed = counted.count(Fate.KILLED)
    return MutationScore(killed, len(counted), wilson_interval(killed, len(counted)) if counted else None)


class LineMutants(StrEnum):
    """What the mutants of a line say about it."""

    PROTECTED = "protected"
    PARTLY = "partly"
    UNPROTECTED = "unprotected"
    UNKNOWN = "unknown"
    """Only a model or a further run can tell."""


@dataclass(frozen=True, slots=True)
class LineProtection:
    """A line of a file, and the scenarios that kill mutants of it."""

    path: str
    line: int
    protection: LineMutants
    scenarios: tuple[str, ...]
    results: tuple[MutantResult, ...]


def lines_of(results: Iterable[MutantResult]) -> tuple[LineProtection, ...]:
    """What is known of each line, in order; a line whose mutants are all equivalent is not listed."""
    found = []
    ordered = sorted(results, key=lambda result: (result.mutant.path, result.mutant.line))
    for (path, line), group in groupby(ordered, key=lambda result: (result.mutant.path, result.mutant.line)):
        counted = tuple(result for result in group if result.fate is not Fate.EQUIVALENT)
        fates = {result.fate for result in counted}
        if not counted:
            continue
        scenarios = tuple(sorted({name for result in counted for name in result.killed_by}))
        found.append(LineProtection(path, line, _protection(fates), scenarios, counted))
    return tuple(found)


def _protection(fates: Collection[Fate]) -> LineMutants:
    killed, open_ = Fate.KILLED in fates, bool(OPEN & {*fates})
    if open_:
        return LineMutants.PARTLY if killed else LineMutants.UNPROTECTED
    return LineMutants.PROTECTED if killed else LineMutants.UNKNOWN
