"""A scenario that is repeated for the rows of a file, and what all its cases came to together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class CaseThreshold:
    """What an aggregate score of a case file must reach.

    Args:
        metric: name of the aggregate, such as ``macro_f1`` or ``ndcg@10``, or of a metric, for the mean of its scores.
        at_least: least value that passes, 0 to 1.
        line: in the scenario's file.
        decides: whether a case that fails counts here only, and does not fail the run by itself.
    """

    metric: str
    at_least: float
    line: int = 0
    decides: bool = False


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The rows that a scenario is repeated for.

    Args:
        id: of the scenario; the ids of its cases begin with it.
        digest: SHA-256 of that file, the version of the case file.
    """

    id: str
    path: str
    digest: str
    cases: int
    gates: tuple[CaseThreshold, ...] = ()


class CaseThresholdStatus(StrEnum):
    """Whether a gate is passed; ``unknown`` while cases that could change the answer were not measured."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CaseThresholdResult:
    """What came of a gate.

    Args:
        value: over the cases that were measured; None where there is none.
        at_most: the value if every case without a measurement were answered perfectly.
    """

    gate: CaseThreshold
    value: float | None
    at_most: float
    status: CaseThresholdStatus


@dataclass(frozen=True, slots=True)
class ClassScores:
    """One class of a classifier."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int
    given: int


@dataclass(frozen=True, slots=True)
class CaseFileScores:
    """What the cases of a case file came to.

    Args:
        selected: rows that this run was asked for and that count.
        measured: those of them all of whose trials ran to their end.
        quarantined: rows that this run was asked for and that do not count.
        values: aggregates over the measured ones, by name.
        classes: of a classifier, in order of label.
    """

    id: str
    path: str
    digest: str
    cases: int
    selected: int
    measured: int
    values: Mapping[str, float] = field(default_factory=dict)
    gates: tuple[CaseThresholdResult, ...] = ()
    classes: tuple[ClassScores, ...] = ()
    quarantined: int = 0

    @property
    def share_decides(self) -> bool:
        """Whether the share of cases that pass decides instead of each case; of a part of the cases none is known."""
        whole = self.selected + self.quarantined == self.cases
        return whole and any(result.gate.decides for result in self.gates)
