"""Customer feedback on conversations (thumbs up or down), read from Langfuse."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ratiba_action.observability.langfuse_asking import ask
from ratiba_action.observability.langfuse_server import LangfuseServer
from ratiba_action.production.conversation import METADATA, Observation

FEEDBACK = "user_feedback"
"""Name of the feedback score in Langfuse."""

_NEGATIVE_WORDS = frozenset({"thumbs_down", "thumbs-down", "thumbsdown", "down", "negative", "bad", "\U0001f44e"})
_MIN_POSITIVE = 0.5


@dataclass(frozen=True, slots=True)
class Feedback:
    """One feedback score.

    Args:
        subject: whether ``subject_id`` is a trace or a session, which has several traces.
        at: with time zone.
        comment: the customer's text; not masked.
    """

    score_id: str
    subject: Literal["trace", "session"]
    subject_id: str
    value: str | float | bool
    at: datetime
    comment: str = ""

    @property
    def negative(self) -> bool:
        """Whether the customer disliked the conversation."""
        return is_negative(self.value)

    @property
    def positive(self) -> bool:
        """Whether the customer liked it; a comment is neither."""
        if isinstance(self.value, str):
            return self.value.strip().casefold() in _POSITIVE_WORDS
        return not self.negative


def is_negative(value: str | float | bool) -> bool:  # noqa: FBT001 - a value, not a switch
    """Whether a feedback score is a thumbs-down.

    Args:
        value: negative are a category such as ``thumbs_down``, false, and a number below 0.5, which fits both common
            scales, 0 to 1 and -1 to 1.
    """
    if isinstance(value, str):
        return value.strip().casefold() in _NEGATIVE_WORDS
    return float(value) < _MIN_POSITIVE


_POSITIVE_WORDS = frozenset({"thumbs_up", "thumbs-up", "thumbsup", "up", "positive", "good", "\U0001f44d"})


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Conversations by the last feedback on each.

    Args:
        other: with neither, such as those with only a comment.
    """

    positive: int = 0
    negative: int = 0
    other: int = 0

    @property
    def negative_share(self) -> float | None:
        """Share of negative among positive and negative, 0 to 1; None if there are none."""
        decided = self.positive + self.negative
        return self.negative / decided if decided else None


def count_feedback(feedback: Iterable[Feedback]) -> FeedbackCounts:
    """Count conversations by their last positive or negative feedback; comments do not change it."""
    last: dict[tuple[str, str], Feedback] = {}
    for entry in sorted(feedback, key=lambda entry: (entry.at, entry.score_id)):
        subject = entry.subject, entry.subject_id
        if subject not in last or entry.negative or entry.positive:
            last[subject] = entry
    negative = sum(entry.negative for entry in last.values())
    positive = sum(entry.positive for entry in last.values())
    return FeedbackCounts(positive, negative, len(last) - positive - negative)


_OBSERVATIONS = 1000
_ERROR = "ERROR"
_FIELDS = "core,basic,io,metadata,model,trace_context"


def feedback_since(
    server: LangfuseServer, since: datetime, until: datetime, name: str = FEEDBACK
) -> Iterator[Feedback]:
    """All feedback of a period, newest first, without feedback on experiments.

    Args:
        server: with its deadline.
        since: start, with time zone.
        until: end (exclusive), with time zone, so that pages do not shift while they are read.

    Raises:
        LangfuseError: it did not answer.
    """
    rows = server.scores(name=name, from_timestamp=since, to_timestamp=until)
    yield from (found for row in rows if (found := _feedback(row)) is not None)


def _feedback(score: Any) -> Feedback | None:
    subject = score.subject
    kind = getattr(subject, "kind", "")
    trace = subject.trace_id if kind == "observation" else subject.id if kind == "trace" else ""
    if trace:
        return Feedback(score.id, "trace", trace, score.value, score.timestamp, score.comment or "")
    if kind == "session":
        return Feedback(score.id, "session", subject.id, score.value, score.timestamp, score.comment or "")
    return None


def observations_of(server: LangfuseServer, feedback: Feedback) -> Iterator[Observation]:
    """Every observation of the trace, or of the session, that a feedback is about.

    Raises:
        LangfuseError: it did not answer.
    """
    cursor: str | None = None
    while True:
        page = _observations(server, feedback, cursor)
        yield from (observation(row) for row in page.data)
        cursor = page.meta.cursor
        if not cursor:
            return


def _observations(server: LangfuseServer, feedback: Feedback, cursor: str | None) -> Any:
    subject = {f"{feedback.subject}_id": feedback.subject_id}
    return ask(
        lambda: server.api.observations.get_many(
            **subject,
            fields=_FIELDS,
            # Otherwise values are cut at 200 characters, and with them the names that must be masked.
            expand_metadata=",".join(METADATA),
            limit=_OBSERVATIONS,
            cursor=cursor,
            request_options=server.options,
        ),
        server.deadline,
    )


def observation(row: Any) -> Observation:
    """Convert an observation of the API."""
    return Observation(
        trace_id=row.trace_id or "",
        observation_id=row.id,
        parent_id=row.parent_observation_id or "",
        name=row.name or "",
        start=row.start_time,
        given=row.input,
        made=row.output,
        metadata=row.metadata or {},
        kind=row.type.lower(),
        failed=row.level is not None and row.level.value == _ERROR,
        model=row.model or "",
        environment=row.environment or "",
        ended=row.end_time,
        tags=tuple(row.tags or ()),
    )
