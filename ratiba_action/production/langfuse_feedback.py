"""Feedback of customers and the traces that it is about, read from Langfuse page by page."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ratiba_action.observability.langfuse_asking import ask
from ratiba_action.observability.langfuse_server import LangfuseServer
from ratiba_action.production.conversation import METADATA, Observation
from ratiba_action.production.feedback import FEEDBACK, Feedback

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
