"""What is to run, and where."""

from dataclasses import dataclass, field

from ratiba_action.model.change import ModeDecision
from ratiba_action.model.scenario import Scenario

HEAD = "head"
BASE = "base"
"""Names of the two sides of a change."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison.

    Args:
        name: ``head`` or ``base``.
        root: absolute path of that side's checkout.
        commit: its commit, None for a working tree.
    """

    name: str
    root: str
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one scenario on one arm; ``number`` counts from 0."""

    scenario: Scenario
    arm: Arm
    number: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The trials to run next."""

    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """The mode and the scenarios that it asks for.

    Args:
        free: ids of those that run only because they cost nothing: no model is ever called for them.
        covered: False where no scenario's ``touches`` names a changed file and none is tagged ``smoke``.
    """

    decision: ModeDecision
    scenarios: tuple[Scenario, ...]
    left_out: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    covered: bool = True


@dataclass(frozen=True, slots=True)
class Tenant:
    """A scenario's own schema, role and connection.

    Args:
        id: UUID of the registered tenant.
        schema: name of the schema and of the role that owns it; at most 63 bytes.
        dsn: connection string of that role, its search path set to the schema; holds a password.
    """

    id: str
    schema: str
    dsn: str = field(repr=False)
