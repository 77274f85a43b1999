"""Reads from a Langfuse project which conversations took place in production; ``langfuse_feedback`` reads each."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from ratiba_action.observability.langfuse_asking import ask
from ratiba_action.observability.langfuse_server import LangfuseServer
from ratiba_action.production.conversation import Observation
from ratiba_action.production.langfuse_feedback import observation

_OBSERVATIONS = 1000
_SCORES = 100


def roots_between(server: LangfuseServer, since: datetime, until: datetime) -> tuple[Observation, ...]:
    """The root of every trace that began in a time, without inputs and outputs; ``until`` is not part of it.

    Raises:
        LangfuseError: it did not answer.
    """
    return _listed(server, since, until, {"is_root_observation": True})


def failed_between(server: LangfuseServer, since: datetime, until: datetime) -> tuple[Observation, ...]:
    """Every step of level ``ERROR`` that began in a time.

    Raises:
        LangfuseError: it did not answer.
    """
    return _listed(server, since, until, {"level": "ERROR"})


def scored(server: LangfuseServer, name: str, traces: Sequence[str]) -> frozenset[str]:
    """Which of some traces have a score of a name.

    Raises:
        LangfuseError: it did not answer.
    """
    found: set[str] = set()
    for start in range(0, len(traces), _SCORES):
        some = ",".join(traces[start : start + _SCORES])
        rows = _pages(
            server,
            lambda more, some=some: server.api.scores.get_many(  # type: ignore[misc]
                name=name, trace_id=some, fields="subject", limit=_SCORES, **more
            ),
        )
        found |= {str(one.subject.id) for one in rows if getattr(one.subject, "kind", "") == "trace"}
    return frozenset(found)


def _listed(server: LangfuseServer, since: datetime, until: datetime, query: dict[str, Any]) -> tuple[Observation, ...]:
    rows = _pages(
        server,
        lambda more: server.api.observations.get_many(
            fields="core,basic", limit=_OBSERVATIONS, from_start_time=since, to_start_time=until, **query, **more
        ),
    )
    return tuple(observation(one) for one in rows)


def _pages(server: LangfuseServer, get: Callable[[dict[str, Any]], Any]) -> list[Any]:
    """Every row; each page is asked for again where the server is busy, within its one deadline."""
    rows: list[Any] = []
    cursor: str | None = None
    while True:
        more: dict[str, Any] = {"cursor": cursor}
        page = ask(lambda more=more: get({**more, "request_options": server.options}), server.deadline)  # type: ignore[misc]
        rows += page.data
        cursor = page.meta.cursor
        if not cursor:
            return rows
