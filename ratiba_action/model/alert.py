"""What a team is told about outside the pull request."""

from dataclasses import dataclass
from enum import StrEnum


class AlertKind(StrEnum):
    """What may have happened; the configuration lists which of it is sent."""

    FAILED = "failed"
    """A run on the default branch failed."""
    INCOMPLETE = "incomplete"
    BUDGET = "budget"
    """A run has spent 80 % of its budget or reached it."""
    MONTH = "month"
    """Runs that share a ledger have spent 80 % of the month's budget or reached it."""
    DRIFT = "drift"
    CANARY = "canary"
    CALIBRATION = "calibration"


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that happened.

    Args:
        kind: of it.
        text: in one sentence; models and people may have written parts of it.
    """

    kind: AlertKind
    text: str
