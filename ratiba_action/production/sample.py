"""What came of looking at a sample of production."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from ratiba_action.model.measurement import Errored, NotRun, ScenarioResult, Scored
from ratiba_action.model.values import Usd
from ratiba_action.production.feedback_counts import FeedbackCounts

_LONGEST = timedelta(days=7)
"""What a judge has refused so long is not asked about any more."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was looked at in a time, and what was not.

    Args:
        since: aware; ``until`` is not part of the time.
        traces: how many conversations began in it.
        chosen: how many were chosen, by the reason.
        known: how many of those had been measured before.
        results: of the others that hold a conversation and a metric that can measure it.
        empty: ids of traces in which nobody says anything that can be read.
        unread: why a chosen conversation could not be read, by its trace.
        blocked: why a conversation must not be shown to a judge, by its trace.
        unmeasured: ids of conversations that no configured metric can measure.
        begun: when each conversation that was to be measured began, by its trace; the unread ones too.
        feedback: what customers said in the time.
        unsent: why scores could not be written back; empty when all were.
        notes: what else is to be known.
    """

    since: datetime
    until: datetime
    traces: int = 0
    chosen: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    results: tuple[ScenarioResult, ...] = ()
    empty: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    blocked: Mapping[str, str] = field(default_factory=dict)
    unmeasured: tuple[str, ...] = ()
    begun: Mapping[str, datetime] = field(default_factory=dict)
    feedback: FeedbackCounts = field(default_factory=FeedbackCounts)
    spent: Usd = Decimal(0)
    budget: Usd = Decimal(0)
    unsent: str = ""
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> tuple[Scored, ...]:
        """Conversations that were measured."""
        return tuple(one for one in self.results if isinstance(one, Scored))

    @property
    def left(self) -> tuple[tuple[str, str], ...]:
        """Conversations that were not looked at or not to the end, by their traces, each with the reason."""
        broken = ((one.trial.scenario.id, _why(one)) for one in self.results if not isinstance(one, Scored))
        return (*broken, *self.unread.items())

    @property
    def complete(self) -> bool:
        """Whether everything that was chosen was looked at, and is known where it belongs."""
        return not self.left and not self.unsent and not (self.unmeasured and not self.scored and not self.known)

    @property
    def next_since(self) -> datetime:
        """From when the next run has to look: nothing that was left out is forgotten within a week."""
        left = self.begun.keys() if self.unsent else {name for name, _ in self.left}
        earliest = min((self.until, *(moment for name, moment in self.begun.items() if name in left)))
        return max(earliest, self.until - _LONGEST)


def _why(result: ScenarioResult) -> str:
    if isinstance(result, NotRun):
        return result.reason
    return f"{result.phase.value}: {result.told}" if isinstance(result, Errored) else ""
