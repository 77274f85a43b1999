"""Events of runs → their traces: one per conversation, with spans for what happened in it and its scores."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from ratiba_action.model.event import (
    ConversationEnded,
    ConversationStarted,
    LoggedEvent,
    ModelCalled,
    Place,
    RunStarted,
    TurnEnded,
    conversation_id,
)
from ratiba_action.observability.traces import attributes
from ratiba_action.observability.traces.datasets import suite_dataset
from ratiba_action.observability.traces.metadata import carried_metadata, tags_of
from ratiba_action.observability.traces.model import AttributeValue, Span, Trace, TracedRun, span_id
from ratiba_action.observability.traces.scores import scores_of
from ratiba_action.observability.traces.shown import TraceStep, attributes_of, step_of


def root_span(trace_id: str, place: Place, events: Sequence[LoggedEvent]) -> Span:
    """The conversation from its first event to its last."""
    turns = [logged.event.data for logged in events if isinstance(logged.event.data, TurnEnded)]
    ended = [logged.event.data for logged in events if isinstance(logged.event.data, ConversationEnded)]
    last = ended[-1] if ended else None
    step = TraceStep(
        name=place.scenario or "",
        kind="agent",
        given=[{"user": turn.user} if turn.user is not None else {"event": turn.event} for turn in turns],
        made=[turn.reply for turn in turns],
        metadata=_metadata(last),
        problem=_root_problem(last),
    )
    start = min(logged.at for logged in events)
    return Span(
        trace_id=trace_id,
        span_id=span_id(trace_id, "conversation"),
        parent_id="",
        name=step.name,
        start=start,
        end=max(logged.at for logged in events),
        attributes=attributes_of(step),
        shown=last,
    )


def _metadata(last: ConversationEnded | None) -> dict[str, object]:
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
    first = min(logged.at for logged in events)
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
            shown=data,
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
    """Each event with the number of its attempt: one that errored may be run again."""
    attempt = 0
    for logged in events:
        if isinstance(logged.event.data, ConversationStarted):
            attempt = logged.event.data.attempt
        yield attempt, logged


ENVIRONMENT = "ratiba-gate"
"""Langfuse's environment of all that is sent: it keeps evaluations apart from production."""


@dataclass(slots=True)
class _GatheredConversation:
    """What is known of one while its events are gathered."""

    run: str
    place: Place
    events: list[LoggedEvent] = field(default_factory=list)


def traced_runs(events: Iterable[LoggedEvent]) -> tuple[TracedRun, ...]:
    """The runs of a log, in their order.

    A conversation that was not run to its end is a trace of what there is. One that never began, for want of money
    or time, has none.

    Args:
        events: in the order of the log; runs may follow each other.
    """
    started: dict[str, dict[str | None, RunStarted]] = {}
    conversations: dict[str, _GatheredConversation] = {}
    for logged in events:
        data, place = logged.event.data, logged.event.place
        facts = started.setdefault(logged.run, {})
        if isinstance(data, RunStarted):
            # Variants that run side by side share a run, and each begins by itself.
            facts[place.variant] = data
        elif place.scenario is not None:
            name = conversation_id(logged.run, place)
            conversations.setdefault(name, _GatheredConversation(logged.run, place)).events.append(logged)
    of_runs: dict[str, dict[str, _GatheredConversation]] = {run: {} for run in started}
    for name, conversation in conversations.items():
        of_runs[conversation.run][name] = conversation
    return tuple(_traced_run(run, facts, of_runs[run]) for run, facts in started.items())


def _traced_run(
    run: str, facts: dict[str | None, RunStarted], conversations: dict[str, _GatheredConversation]
) -> TracedRun:
    first = next(iter(facts.values()), None)
    traces = tuple(
        _trace(name, conversation, facts.get(conversation.place.variant, first))
        for name, conversation in conversations.items()
        if any(isinstance(logged.event.data, ConversationStarted) for logged in conversation.events)
    )
    return TracedRun(run, traces, suite_dataset(first.repository, first.gate) if first is not None else "")


def _trace(trace_id: str, conversation: _GatheredConversation, facts: RunStarted | None) -> Trace:
    place = conversation.place
    shared: dict[str, AttributeValue] = {
        attributes.TRACE_NAME: attributes.shortened(place.scenario or ""),
        attributes.SESSION: attributes.shortened(conversation.run),
        attributes.ENVIRONMENT: ENVIRONMENT,
        attributes.TAGS: tags_of(conversation.events, facts),
        **dict(attributes.carried(carried_metadata(trace_id, conversation.run, place, conversation.events, facts))),
    }
    if facts is not None and facts.commit:
        shared[attributes.VERSION] = attributes.shortened(facts.commit)
    root = root_span(trace_id, place, conversation.events)
    spans = (root, *step_spans(trace_id, root.span_id, conversation.events))
    return Trace(
        trace_id=trace_id,
        spans=tuple(replace(span, attributes={**shared, **span.attributes}) for span in spans),
        scores=tuple(scores_of(trace_id, conversation.events)),
        scenario=place.scenario or "",
        label=_label(place),
        arm=place.arm or "head",
        variant=place.variant or "",
        passed=_passed(conversation.events),
    )


def _label(place: Place) -> str:
    trial = f"trial {place.trial + 1}" if place.trial else ""
    arm = place.arm if place.arm not in (None, "head") else ""
    details = ", ".join(part for part in (arm, place.variant, trial) if part)
    return f"{place.scenario} ({details})" if details else str(place.scenario)


def _passed(events: Sequence[LoggedEvent]) -> bool | None:
    ended = [logged.event.data for logged in events if isinstance(logged.event.data, ConversationEnded)]
    return ended[-1].passed if ended else None
