"""What customers said of conversations by a button, and which of it means that something went wrong."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ratiba_action.observability.langfuse_asking import ask
from ratiba_action.observability.langfuse_server import LangfuseServer
from ratiba_action.production.conversation import METADATA, Observation

FEEDBACK = "user_feedback"
"""Name of the score that a button becomes (``seeds/000``, row "Customer feedback bridge")."""

_NEGATIVE_WORDS = frozenset({"thumbs_down", "thumbs-down", "thumbsdown", "down", "negative", "bad", "\U0001f44e"})
_LEAST_POSITIVE = 0.5


@dataclass(frozen=True, slots=True)
class Feedback:
    """One button that was pressed.

    Args:
        subject: whether ``subject_id`` is that of a trace or of a session, which holds several.
        at: aware of its time zone.
        comment: what the customer wrote with it; not masked.
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


def is_negative(value: str | float | bool) -> bool:  # noqa: FBT001 - a value, not a switch
    """Whether a feedback score is a thumbs-down.

    Args:
        value: a category such as ``thumbs_down``; false of a boolean; a number below 0.5, so that both scales that
            are in use, 0 to 1 and -1 to 1, are understood.
    """
    if isinstance(value, str):
        return value.strip().casefold() in _NEGATIVE_WORDS
    return float(value) < _LEAST_POSITIVE


_POSITIVE_WORDS = frozenset({"thumbs_up", "thumbs-up", "thumbsup", "up", "positive", "good", "\U0001f44d"})


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Conversations by the last word on each.

    Args:
        other: of which nobody said either, such as those with a comment alone.
    """

    positive: int = 0
    negative: int = 0
    other: int = 0

    @property
    def negative_share(self) -> float | None:
        """Of those that are one or the other, 0 to 1; None where none is."""
        decided = self.positive + self.negative
        return self.negative / decided if decided else None


def count_feedback(feedback: Iterable[Feedback]) -> FeedbackCounts:
    """Count conversations: who presses twice has changed their mind, and a comment changes nothing."""
    last: dict[tuple[str, str], Feedback] = {}
    for one in sorted(feedback, key=lambda each: (each.at, each.score_id)):
        subject = one.subject, one.subject_id
        if subject not in last or one.negative or _positive(one):
            last[subject] = one
    negative, positive = (sum(map(said, last.values())) for said in (_negative, _positive))
    return FeedbackCounts(positive, negative, len(last) - positive - negative)


def _negative(feedback: Feedback) -> bool:
    return feedback.negative


def _positive(feedback: Feedback) -> bool:
    if isinstance(feedback.value, str):
        return feedback.value.strip().casefold() in _POSITIVE_WORDS
    return not feedback.negative


_SCORES = 100
_OBSERVATIONS = 1000
_ERROR = "ERROR"
_FIELDS = "core,basic,io,metadata,model,trace_context"


def feedback_since(
    server: LangfuseServer, since: datetime, until: datetime, name: str = FEEDBACK
) -> Iterator[Feedback]:
    """Every feedback of a time, newest first; one of an experiment is none.

    Args:
        server: that is asked, within its deadline.
        since: aware; from then on.
        until: aware; before then, so that pages do not shift while they are read.
        name: of the scores.

    Raises:
        LangfuseError: it did not answer.
    """
    cursor: str | None = None
    while True:
        page = _scores(server, name, since, until, cursor)
        yield from (found for one in page.data if (found := _feedback(one)) is not None)
        cursor = page.meta.cursor
        if not cursor:
            return


def _scores(server: LangfuseServer, name: str, since: datetime, until: datetime, cursor: str | None) -> Any:
    return ask(
        lambda: server.api.scores.get_many(
            name=name,
            from_timestamp=since,
            to_timestamp=until,
            fields="details,subject",
            limit=_SCORES,
            cursor=cursor,
            request_options=server.options,
        ),
        server.deadline,
    )


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
        yield from (observation(one) for one in page.data)
        cursor = page.meta.cursor
        if not cursor:
            return


def _observations(server: LangfuseServer, feedback: Feedback, cursor: str | None) -> Any:
    subject = {f"{feedback.subject}_id": feedback.subject_id}
    return ask(
        lambda: server.api.observations.get_many(
            **subject,
            fields=_FIELDS,
            # Else a value ends after 200 characters, and with it the names that have to be masked.
            expand_metadata=",".join(METADATA),
            limit=_OBSERVATIONS,
            cursor=cursor,
            request_options=server.options,
        ),
        server.deadline,
    )


def observation(one: Any) -> Observation:
    """An observation as the API gives it back, with the fields that were asked for."""
    return Observation(
        trace_id=one.trace_id or "",
        observation_id=one.id,
        parent_id=one.parent_observation_id or "",
        name=one.name or "",
        start=one.start_time,
        given=one.input,
        made=one.output,
        metadata=one.metadata or {},
        kind=one.type.lower(),
        failed=one.level is not None and one.level.value == _ERROR,
        model=one.model or "",
        environment=one.environment or "",
    )
