"""What was measured of a conversation of production, as scores of its own trace."""

from collections.abc import Iterator
from datetime import datetime

from ratiba_action.checks.conversation_events import result_events
from ratiba_action.model.event import LoggedEvent
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.observability.event_masking import EventMask
from ratiba_action.observability.traces.model import TraceScore
from ratiba_action.observability.traces.scores import scores_of


def sample_scores(result: ScenarioResult, started: datetime, mask: EventMask) -> Iterator[TraceScore]:
    """Scores to write back, masked.

    Args:
        result: of a scenario that has its trace's id.
        started: when the conversation began: a server overwrites by id and day, and this does not move.
        mask: of the run.
    """
    trace = result.trial.scenario.id
    events = [
        LoggedEvent(trace, number, started, mask.event(event)) for number, event in enumerate(result_events(result), 1)
    ]
    return scores_of(trace, events)
