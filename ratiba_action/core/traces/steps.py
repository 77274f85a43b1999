"""What happened in a conversation, as spans: the conversation itself, its turns, and the steps of each."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from ratiba_action.core.model.event import (
    ConversationEnded,
    ConversationStarted,
    LoggedEvent,
    Place,
    TurnEnded,
)
from ratiba_action.core.traces.model import Span, span_id
from ratiba_action.core.traces.shown import Step, attributes_of, step_of


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
    turns: dict[tuple[int, int | None], str] = {}
    for attempt, logged in _attempts(events):
        if isinstance(logged.event.data, TurnEnded):
            turns[attempt, logged.event.place.turn] = span_id(trace_id, f"event {logged.sequence}")
    for attempt, logged in _attempts(events):
        data, place = logged.event.data, logged.event.place
        step = step_of(data, place)
        if step is None:
            continue
        is_turn = isinstance(data, TurnEnded)
        seconds = data.seconds if isinstance(data, TurnEnded) else 0.0
        yield Span(
            trace_id=trace_id,
            span_id=span_id(trace_id, f"event {logged.sequence}"),
            parent_id=root if is_turn else turns.get((attempt, place.turn), root),
            name=step.name,
            start=max(logged.at - timedelta(seconds=max(seconds, 0.0)), first),
            end=max(logged.at, first),
            attributes=attributes_of(step),
        )


def _attempts(events: Sequence[LoggedEvent]) -> Iterator[tuple[int, LoggedEvent]]:
    """Each event with the number of its attempt: one that broke off may be held again."""
    attempt = 0
    for logged in events:
        if isinstance(logged.event.data, ConversationStarted):
            attempt = logged.event.data.attempt
        yield attempt, logged
