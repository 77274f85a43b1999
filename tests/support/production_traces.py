"""Traces as a booking assistant in production leaves them, in a stand-in for Langfuse."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.langfuse_state import LangfuseState, TakenSpan


def add_conversation(
    state: LangfuseState,
    name: str,
    turns: Sequence[tuple[str, str]],
    at: datetime,
    *,
    error: str = "",
    metadata: Mapping[str, str] | None = None,
    model: str = "gpt-5",
    environment: str = "production",
) -> str:
    """Trace a conversation: a root, a span for each turn, a tool call and a model call in each.

    Args:
        state: of the stand-in.
        name: seed of the trace's id.
        turns: message and reply.
        at: when it began, aware.
        error: what the last turn says that failed; empty where none did.
        metadata: carried by every span.
        model: that wrote the replies.
        environment: of the whole trace.

    Returns:
        The trace's id.
    """
    trace = hashlib.sha256(name.encode()).hexdigest()[:32]
    shared: dict[str, Any] = {f"langfuse.trace.metadata.{key}": value for key, value in (metadata or {}).items()}
    shared["langfuse.environment"] = environment
    state.spans.append(_span((trace, "root", ""), "conversation", at, shared))
    for number, (user, reply) in enumerate(turns, 1):
        reported = {"langfuse.observation.input": user, "langfuse.observation.output": reply, **shared}
        if error and number == len(turns):
            reported |= {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": error}
        moment = at + timedelta(seconds=number)
        state.spans.append(_span((trace, f"turn {number}", "root"), f"turn {number}", moment, reported))
        tool = {
            "langfuse.observation.type": "tool",
            "langfuse.observation.input": json.dumps({"service": "massage", "message": user}),
            **shared,
        }
        call = {"langfuse.observation.type": "generation", "langfuse.observation.model.name": model, **shared}
        state.spans.append(_span((trace, f"tool {number}", f"turn {number}"), "check_availability", moment, tool))
        state.spans.append(_span((trace, f"model {number}", f"turn {number}"), "reply", moment, call))
    return trace


def add_feedback(state: LangfuseState, trace: str, value: float | str, at: datetime) -> None:
    """Give a trace the score that a button of a customer becomes."""
    moment = at.isoformat()
    name = f"feedback {trace}"
    kind = "CATEGORICAL" if isinstance(value, str) else "NUMERIC"
    score = {"id": name, "traceId": trace, "name": "user_feedback", "value": value, "dataType": kind}
    kept = {"source": "API", "environment": "production", "projectId": "project-of-the-gate", **score}
    kept |= {"timestamp": moment, "createdAt": moment, "updatedAt": moment}
    state.scores[name, "user_feedback", at.astimezone(UTC).date().isoformat()] = kept


def _span(names: tuple[str, str, str], shown: str, at: datetime, attributes: Mapping[str, Any]) -> TakenSpan:
    trace, name, parent = names
    start = int(at.timestamp()) * 1_000_000_000
    return TakenSpan(trace, _id(trace, name), _id(trace, parent) if parent else "", shown, start, start + 1, attributes)


def _id(trace: str, name: str) -> str:
    return hashlib.sha256(f"{trace}{name}".encode()).hexdigest()[:16]
