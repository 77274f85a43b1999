"""Nouns of what is sent to a tracing server: traces with their spans and scores."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ratiba_action.model.event import Happening

AttributeValue = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """One step of a conversation.

    Args:
        trace_id: 32 hexadecimal digits.
        span_id: 16 hexadecimal digits.
        parent_id: of the span that it is a part of; empty for the root.
        start: aware.
        end: aware, never before the start.
        attributes: as Langfuse names them.
        shown: the event that it shows; None for a conversation without an end.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: datetime
    end: datetime
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    shown: Happening | None = None


@dataclass(frozen=True, slots=True)
class TraceScore:
    """What was measured of a trace, or of all traces of an experiment.

    Args:
        score_id: the same whenever it is sent, so that a server overwrites it.
        trace_id: empty for one of an experiment.
        value: a number, or 0 and 1 for ``BOOLEAN``.
        kind: ``NUMERIC`` or ``BOOLEAN``.
        at: aware; a server that overwrites by id and day needs it to be the same each time.
    """

    score_id: str
    trace_id: str
    name: str
    value: float
    kind: str
    at: datetime
    comment: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    experiment_id: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """One conversation.

    Args:
        spans: the root first.
        scenario: that was held; ``label`` distinguishes it from its repeats, arms and variants.
        arm: ``head`` or ``base``.
        passed: None where it was not scored to its end.
    """

    trace_id: str
    spans: tuple[Span, ...]
    scores: tuple[TraceScore, ...]
    scenario: str
    label: str
    arm: str
    variant: str = ""
    passed: bool | None = None


@dataclass(frozen=True, slots=True)
class TracedRun:
    """All conversations of one run.

    Args:
        items: ids of the dataset's items by scenario, where they are not those that follow from its id.
        experiment_scores: of the head's conversations together.
    """

    run: str
    traces: tuple[Trace, ...]
    dataset: str = ""
    items: Mapping[str, str] = field(default_factory=dict)
    experiment_scores: tuple[TraceScore, ...] = ()

    @property
    def spans(self) -> int:
        """How many there are."""
        return sum(len(trace.spans) for trace in self.traces)

    @property
    def scores(self) -> int:
        """How many there are."""
        return sum(len(trace.scores) for trace in self.traces) + len(self.experiment_scores)


def span_id(trace_id: str, key: str) -> str:
    """The id of a span: 16 hexadecimal digits, the same whoever computes them, and never only zeros."""
    made = hashlib.sha256(f"{trace_id}\n{key}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return made if int(made, 16) else "1".rjust(16, "0")


def nanoseconds(moment: datetime) -> int:
    """Since 1970, in whole microseconds: a float of seconds cannot tell nanoseconds apart."""
    whole = int(moment.replace(microsecond=0).timestamp())
    return (whole * 1_000_000 + moment.microsecond) * 1000


def score_id(trace_id: str, key: str) -> str:
    """The id of a score: 32 hexadecimal digits, the same whoever computes them."""
    return hashlib.sha256(f"score\n{trace_id}\n{key}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
