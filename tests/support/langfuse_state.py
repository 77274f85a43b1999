"""What a stand-in for Langfuse knows, has taken and does wrong."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

PROJECT_ID = "project-of-the-gate"

LEGACY = frozenset({"GET /traces", "POST /ingestion"})
"""What a server of version 4 in its default write mode (``events_only``) answers with 404."""

NEWEST = frozenset({"GET /v2/observations", "GET /experiments", "GET /experiment-items"})
"""What one of version 3 answers with 404."""


class Mode(StrEnum):
    """How a stand-in for Langfuse behaves; one that is dead is a port where nothing listens."""

    HEALTHY = "healthy"
    FAILING = "500"
    REJECTING = "207"
    """Refuses every second score and span, and says how many, as a batch of which half is invalid."""
    BUSY = "429"
    BLACK_HOLE = "takes the connection and never answers"
    ANSWER_LOST = "takes what it is sent, and drops the connection in place of an answer"


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived.

    Args:
        path: with its query.
        headers: by name in small letters.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class TakenSpan:
    """A span as Langfuse keeps it.

    Args:
        attributes: values as OTLP carries them.
        start: nanoseconds since 1970.
        end: the same.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: int
    end: int
    attributes: Mapping[str, Any]


@dataclass(slots=True)
class LangfuseState:
    """State of one stand-in, shared by its threads.

    Spans are kept as the server keeps them since its version 4: one that is sent twice is there twice. A score is
    overwritten by one with the same id, name and day.

    Args:
        mode: how it behaves; may be changed while it serves.
        upcoming: how it behaves at the next requests, one after the other, before ``mode`` holds.
        instead: what it answers in the place of everything it should, if it is not None.
        visible: whether what it takes can be read at once, as it can not on a server that is busy.
        retry_after: seconds that a 429 asks for.
        version: before 4.59, a list of scores is refused; before 4, a span that is sent twice is there once.
        lacks: endpoints that it answers with 404, as ``GET /v2/observations``.
        plain: whether its 404 is a page of HTML, as of a route that it does not know at all.
    """

    public_key: str = "pk-lf-test"
    secret_key: str = "sk-lf-test"
    mode: Mode = Mode.HEALTHY
    upcoming: list[Mode] = field(default_factory=list)
    instead: object = None
    visible: bool = True
    retry_after: int = 1
    version: str = "4.59.0"
    lacks: frozenset[str] = LEGACY
    plain: bool = False
    spans: list[TakenSpan] = field(default_factory=list)
    scores: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def environment(self, host: str) -> dict[str, str]:
        """What a run needs to use it at an address."""
        return {
            "RATIBA_LANGFUSE_HOST": host,
            "RATIBA_LANGFUSE_PUBLIC_KEY": self.public_key,
            "RATIBA_LANGFUSE_SECRET_KEY": self.secret_key,
        }

    @property
    def numbers(self) -> tuple[int, int]:
        """The first two parts of the version."""
        major, minor, *_ = self.version.split(".")
        return int(major), int(minor)

    def spans_of(self, trace_id: str) -> tuple[TakenSpan, ...]:
        """Spans of one trace, copies included."""
        return tuple(span for span in self.spans if span.trace_id == trace_id)

    @property
    def span_copies(self) -> dict[tuple[str, str], int]:
        """How often each span was taken, by trace and span id."""
        copies: dict[tuple[str, str], int] = {}
        for span in self.spans:
            key = span.trace_id, span.span_id
            copies[key] = copies.get(key, 0) + 1
        return copies

    @property
    def score_copies(self) -> dict[str, int]:
        """How many scores stand under each id."""
        copies: dict[str, int] = {}
        for score_id, _, _ in self.scores:
            copies[score_id] = copies.get(score_id, 0) + 1
        return copies


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered: a status, JSON and headers."""

    status: int
    content: Any
    headers: Mapping[str, str] = field(default_factory=dict)


def refused(status: int, message: str) -> Answer:
    """An error as the API words it."""
    return Answer(status, {"message": message, "error": message})


def in_time(moment: str) -> datetime:
    """A moment of a query or a body; without an offset it is refused.

    Raises:
        ValueError: it is none.
    """
    read = datetime.fromisoformat(moment)
    if read.tzinfo is None:
        raise ValueError(f"{moment!r} has no offset")
    return read


def older_langfuse(lacks: frozenset[str] = NEWEST, *, plain: bool = False) -> LangfuseState:
    """A server of version 3, whose reads of observations are those of before."""
    return LangfuseState(version="3.225.11", lacks=lacks, plain=plain)
