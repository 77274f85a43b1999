"""How stable a scenario's outcome is over the runs of a branch."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

from ratiba_action.model.values import Usd
from ratiba_action.publish.site.outcomes import FAILED, INCOMPLETE
from ratiba_action.publish.site.runs import RunLine
from ratiba_action.verdict.interval import Interval, wilson_interval

RECENT = 60
"""Runs that a share and a strip are of."""
CHANGES = 3
"""Of the outcome, from which a scenario counts as flaky: a fault that was made and fixed changes it twice."""
APART = 15
"""Runs between two changes of which the second still belongs to the same unrest."""


@dataclass(frozen=True, slots=True)
class Stability:
    """A scenario over the runs of a branch.

    Args:
        measured: of the ``RECENT`` last runs, in which it passed or failed.
        interval: of the share of them in which it failed, with 95 % confidence; None without any.
        changes: how often its outcome changed, in its last unrest, from one run to the next with the same file.
        flaky_since: when the first of the changes was that make it flaky; None for a stable one.
        flaky_runs: runs since then.
        flaky_usd: estimated cost of its model calls since then; None where it is not known.
    """

    measured: int
    failed: int
    interval: Interval | None
    changes: int
    flaky_since: datetime | None = None
    flaky_runs: int = 0
    flaky_usd: Usd | None = None


def stability_of(name: str, lines: Sequence[RunLine]) -> Stability:
    """How stable a scenario is.

    Args:
        lines: runs of a branch, the newest first.
    """
    found = [(line, *end) for line in reversed(lines) if (end := line.outcomes.end(name)) is not None]
    measured = [(line, status, digest) for line, status, digest in found if status != INCOMPLETE]
    ends = [end[0] for line in lines[:RECENT] if (end := line.outcomes.end(name)) is not None]
    recent = [status for status in ends if status != INCOMPLETE]
    failed = recent.count(FAILED)
    interval = wilson_interval(failed, len(recent)) if recent else None
    steps = enumerate(pairwise(measured), 1)
    unrest = _last_unrest([at for at, ((_, a, its), (_, b, own)) in steps if a != b and its == own])
    if len(unrest) < CHANGES or len(measured) - unrest[-1] > APART:
        return Stability(len(recent), failed, interval, len(unrest))
    since = measured[unrest[0]][0].started_at
    after = [line.outcomes[name] for line, *_ in found if line.started_at >= since]
    costs = [outcome.usd for outcome in after if outcome.usd is not None]
    usd = sum(costs, Decimal(0)) if costs else None
    return Stability(len(recent), failed, interval, len(unrest), since, len(after), usd)


def _last_unrest(changed: Sequence[int]) -> list[int]:
    """The last changes that follow each other closely."""
    found: list[int] = []
    for at in reversed(changed):
        if found and found[0] - at > APART:
            break
        found.insert(0, at)
    return found


def marks_of(name: str, lines: Sequence[RunLine]) -> tuple[str, ...]:
    """Its outcome in each run, the oldest first; empty where a run did not have it."""
    return tuple((line.outcomes.end(name) or ("",))[0] for line in reversed(lines[:RECENT]))
