"""What happened in a conversation, as spans: the conversation itself, its turns, and the steps of each."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from ratiba_action.model.event import (
    ConversationEnded,
    ConversationStarted,
    LoggedEvent,
    ModelCalled,
    Place,
    TurnEnded,
)
from ratiba_action.observability.traces.model import Span, span_id
from ratiba_action.observability.traces.shown import Step, attributes_of, step_of


def root_span(trace_id: str, place: Place, events: Sequence[LoggedEvent]) -> Span:
    """The conversation from its first event to its last."""
    turns = [one.event.data for one in events if isinstance(one.event.data, TurnEnded)]
    ended = [one.event.data for one in events if isinstance(one.event.data, ConversationEnded)]
    last = ended[-1] if ended else None
    step = Step(
        name=place.scenario or "",
        kind="agent",
        given=[{"user": turn.user} if turn.user is not None else {"event": turn.event} for turn in turns],
        made=[turn.reply for turn in turns],
        metadata=_told(last),
        problem=_root_problem(last),
    )
    start = min(one.at for one in events)
    return Span(
        trace_id=trace_id,
        span_id=span_id(trace_id, "conversation"),
        parent_id="",
        name=step.name,
        start=start,
        end=max(one.at for one in events),
        attributes=attributes_of(step),
    )


def _told(last: ConversationEnded | None) -> dict[str, object]:
    if last is None:
        return {}
    return {"outcome": last.outcome, "seconds": last.seconds, "retried": "; ".join(last.retried)}


def _root_problem(last: ConversationEnded | None) -> str:
    if last is None:
        return "the conversation has no end: its run was killed"
    if last.outcome == "scored":
        return "" if last.passed is not False else last.reason or "failed"
    return ": ".join(part for part in (last.outcome, last.phase, last.reason) if part)


def step_spans(trace_id: str, root: str, events: Sequence[LoggedEvent]) -> Iterator[Span]:
    """A span for every event that shows something; those of a turn are parts of it.

    The name of each is derived from the number of its event, so that it is the same whenever the log is read.
    """
    first = min(one.at for one in events)
    parents = _parents(trace_id, root, events)
    for logged in events:
        data = logged.event.data
        step = step_of(data, logged.event.place)
        if step is None:
            continue
        seconds = data.seconds if isinstance(data, TurnEnded) else 0.0
        since = max(logged.at - first, timedelta(0)).total_seconds()
        yield Span(
            trace_id=trace_id,
            span_id=_id(trace_id, logged),
            parent_id=parents[logged.sequence],
            name=step.name,
            start=max(logged.at, first) - timedelta(seconds=min(max(seconds, 0.0), since)),
            end=max(logged.at, first),
            attributes=attributes_of(step),
        )


def _id(trace_id: str, logged: LoggedEvent) -> str:
    return span_id(trace_id, f"event {logged.sequence}")


def _parents(trace_id: str, root: str, events: Sequence[LoggedEvent]) -> dict[int, str]:
    """The span that each event is a part of, by the event's number.

    A model call does not know its turn; it stands before the end of the turn that it was made for.
    """
    turns: dict[tuple[int, int | None], str] = {}
    found: dict[int, str] = {}
    for attempt, logged in _attempts(events):
        if isinstance(logged.event.data, TurnEnded):
            turns[attempt, logged.event.place.turn] = _id(trace_id, logged)
    following, of_attempt = root, 0
    for attempt, logged in reversed([*_attempts(events)]):
        data, turn = logged.event.data, logged.event.place.turn
        if attempt != of_attempt:
            following, of_attempt = root, attempt
        found[logged.sequence] = root if isinstance(data, TurnEnded) else turns.get((attempt, turn), root)
        if isinstance(data, TurnEnded):
            following = _id(trace_id, logged)
        elif isinstance(data, ModelCalled) and turn is None:
            found[logged.sequence] = following
    return found


def _attempts(events: Sequence[LoggedEvent]) -> Iterator[tuple[int, LoggedEvent]]:
    """Each event with the number of its attempt: one that broke off may be held again."""
    attempt = 0
    for logged in events:
        if isinstance(logged.event.data, ConversationStarted):
            attempt = logged.event.data.attempt
        yield attempt, logged
