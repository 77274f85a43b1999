"""Events of runs → their traces: one per conversation, with spans for what happened in it and its scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ratiba_action.model.event import (
    ConversationEnded,
    ConversationStarted,
    LoggedEvent,
    Place,
    RunStarted,
    conversation_id,
)
from ratiba_action.observability.traces import attributes
from ratiba_action.observability.traces.datasets import suite_dataset
from ratiba_action.observability.traces.metadata import carried_metadata, tags_of
from ratiba_action.observability.traces.model import AttributeValue, Span, Trace, TracedRun
from ratiba_action.observability.traces.scores import scores_of
from ratiba_action.observability.traces.steps import root_span, step_spans

ENVIRONMENT = "ratiba-gate"
"""Langfuse's environment of all that is sent: it keeps evaluations apart from production."""


@dataclass(slots=True)
class _Conversation:
    """What is known of one while its events are gathered."""

    run: str
    place: Place
    events: list[LoggedEvent] = field(default_factory=list)


def traced_runs(events: Iterable[LoggedEvent]) -> tuple[TracedRun, ...]:
    """The runs of a log, in their order.

    A conversation that was not held to its end is a trace of what there is. One that never began, for want of money
    or time, has none.

    Args:
        events: in the order of the log; runs may follow each other.
    """
    started: dict[str, dict[str | None, RunStarted]] = {}
    conversations: dict[str, _Conversation] = {}
    for logged in events:
        data, place = logged.event.data, logged.event.place
        facts = started.setdefault(logged.run, {})
        if isinstance(data, RunStarted):
            # Variants that run side by side share a run, and each begins by itself.
            facts[place.variant] = data
        elif place.scenario is not None:
            name = conversation_id(logged.run, place)
            conversations.setdefault(name, _Conversation(logged.run, place)).events.append(logged)
    of_runs: dict[str, dict[str, _Conversation]] = {run: {} for run in started}
    for name, one in conversations.items():
        of_runs[one.run][name] = one
    return tuple(_traced_run(run, facts, of_runs[run]) for run, facts in started.items())


def _traced_run(run: str, facts: dict[str | None, RunStarted], conversations: dict[str, _Conversation]) -> TracedRun:
    first = next(iter(facts.values()), None)
    traces = tuple(
        _trace(name, one, facts.get(one.place.variant, first))
        for name, one in conversations.items()
        if any(isinstance(logged.event.data, ConversationStarted) for logged in one.events)
    )
    return TracedRun(run, traces, suite_dataset(first.repository, first.gate) if first is not None else "")


def _trace(trace_id: str, one: _Conversation, facts: RunStarted | None) -> Trace:
    place = one.place
    shared: dict[str, AttributeValue] = {
        attributes.TRACE_NAME: attributes.shortened(place.scenario or ""),
        attributes.SESSION: attributes.shortened(one.run),
        attributes.ENVIRONMENT: ENVIRONMENT,
        attributes.TAGS: tags_of(one.events, facts),
        **dict(attributes.carried(carried_metadata(trace_id, one.run, place, one.events, facts))),
    }
    if facts is not None and facts.commit:
        shared[attributes.VERSION] = attributes.shortened(facts.commit)
    root = root_span(trace_id, place, one.events)
    spans = (root, *step_spans(trace_id, root.span_id, one.events))
    return Trace(
        trace_id=trace_id,
        spans=tuple(_with(span, shared) for span in spans),
        scores=tuple(scores_of(trace_id, one.events)),
        scenario=place.scenario or "",
        label=_label(place),
        arm=place.arm or "head",
        variant=place.variant or "",
        passed=_passed(one.events),
    )


def _with(span: Span, shared: dict[str, AttributeValue]) -> Span:
    return Span(
        span.trace_id, span.span_id, span.parent_id, span.name, span.start, span.end, {**shared, **span.attributes}
    )


def _label(place: Place) -> str:
    trial = f"trial {place.trial + 1}" if place.trial else ""
    arm = place.arm if place.arm not in (None, "head") else ""
    details = ", ".join(part for part in (arm, place.variant, trial) if part)
    return f"{place.scenario} ({details})" if details else str(place.scenario)


def _passed(events: Sequence[LoggedEvent]) -> bool | None:
    ended = [logged.event.data for logged in events if isinstance(logged.event.data, ConversationEnded)]
    return ended[-1].passed if ended else None
