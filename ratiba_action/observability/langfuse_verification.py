"""Whether a Langfuse server does what the gate needs: each thing is made once and read back."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ratiba_action.model.event import (
    ConversationEnded,
    ConversationStarted,
    Event,
    Happening,
    LoggedEvent,
    Place,
    RunStarted,
    ScoreLogged,
    TurnEnded,
    conversation_id,
)
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess, LangfuseError, ask
from ratiba_action.observability.langfuse_delivery import deliver
from ratiba_action.observability.langfuse_server import OBSERVATIONS, SCORE_LISTS, TRACES, LangfuseServer, connected
from ratiba_action.observability.traces.conversations import traced_runs
from ratiba_action.observability.traces.datasets import dataset_item_id
from ratiba_action.observability.traces.model import TracedRun

if TYPE_CHECKING:
    from collections.abc import Callable

DATASET = "ratiba-verify"
MIN_VERSION = (4, 59)
"""Of a server that SDK 5 is made for; an older one lacks parts."""

EXPERIMENTS = "GET /api/public/experiments"
READ_SCORES = "GET /api/public/v3/scores"
WITHOUT = {
    OBSERVATIONS: f"spans are verified with {TRACES}; ratiba sample, promote and dataset add-trace cannot read traces",
    SCORE_LISTS: "scores are sent with POST /api/public/ingestion",
    READ_SCORES: "scores are not verified; ratiba drift, canary and promote cannot read scores",
    EXPERIMENTS: "a run is a session of traces with scores, and no experiment on its dataset",
}
"""What the gate does where a server lacks something."""

_MISSING = 404

_SCENARIO = "ratiba_verify"
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class VerificationStep:
    """A step of a verification.

    Args:
        text: what was done, or what the server lacks and what follows.
    """

    text: str
    lacking: bool = False


def verify(access: LangfuseAccess, run: str, now: datetime) -> Iterator[VerificationStep]:
    """Do every step, and give each that is done, with what the server turned out to lack.

    Args:
        access: with the seconds that everything may take; a real server needs half a minute until it shows a trace.
        run: name of the run, one that was never used.
        now: aware; the time of the trace.

    Raises:
        LangfuseError: a step failed; says which and how.
    """
    with connected(access, Deadline.after(access.seconds)) as server:
        yield VerificationStep(_version(server))
        project = server.project()
        yield VerificationStep(f"the keys open the project {project!r}")
        yield VerificationStep(_dataset(server))
        traced = _run(run, now)
        _send(access, traced, server)
        yield VerificationStep(f"a trace with {traced.spans} spans and {traced.scores} scores was taken")
        readable = server.spans_of(run) is not None
        lacking = [*server.lacking, *(name for name, call in _reads(server, traced).items() if _absent(call))]
        yield from (VerificationStep(f"{name}: {WITHOUT[name]}", lacking=True) for name in lacking if name in WITHOUT)
        if not readable:
            raise LangfuseError(f"the trace was sent and not verified: there is neither {OBSERVATIONS} nor {TRACES}")
        _wait(server, lambda: server.spans_of(run) == _keys(traced), "the trace cannot be read back")
        if READ_SCORES in lacking:
            yield VerificationStep("the trace was read back")
            return
        _wait(server, lambda: len(_scores(server, traced)) == traced.scores, "the scores cannot be read back")
        yield VerificationStep("the trace and the scores were read back")
        if OBSERVATIONS not in lacking:
            _send(access, traced, server)
            yield VerificationStep(_copies(server, traced))


def _version(server: LangfuseServer) -> str:
    health = ask(lambda: server.api.health.health(request_options=server.options), server.deadline)
    numbers = tuple(int(part) for part in re.findall(r"\d+", str(health.version))[:2])
    older = f", older than {MIN_VERSION[0]}.{MIN_VERSION[1]}" if numbers < MIN_VERSION else ""
    return f"it answers, with version {health.version!s:.40}{older}"


def _reads(server: LangfuseServer, traced: TracedRun) -> "dict[str, Callable[[], Any]]":
    since = traced.traces[0].spans[0].start
    return {
        READ_SCORES: lambda: _scores(server, traced),
        EXPERIMENTS: lambda: ask(
            lambda: server.api.experiments.list(from_start_time=since, limit=1, request_options=server.options),
            server.deadline,
        ),
    }


def _absent(call: "Callable[[], Any]") -> bool:
    try:
        call()
    except LangfuseError as error:
        if error.status != _MISSING:
            raise
        return True
    return False


def _dataset(server: LangfuseServer) -> str:
    item = dataset_item_id(DATASET, _SCENARIO)
    ask(
        lambda: server.api.datasets.create(
            name=DATASET, description="made by 'ratiba dataset verify'", request_options=server.options
        ),
        server.deadline,
    )
    ask(
        lambda: server.api.dataset_items.create(
            dataset_name=DATASET, id=item, input={"turns": ["Habari"]}, request_options=server.options
        ),
        server.deadline,
    )
    read = ask(lambda: server.api.dataset_items.get(item, request_options=server.options), server.deadline)
    if read.input != {"turns": ["Habari"]} or read.dataset_name != DATASET:
        raise LangfuseError("the item of the dataset is not what was written")
    return f"the dataset {DATASET!r} has its item"


def _run(run: str, now: datetime) -> TracedRun:
    """A conversation of one turn, as a run would have written it down."""
    place = Place("head", _SCENARIO, 0)
    happened: list[tuple[Happening, Place]] = [
        (RunStarted(gate=DATASET, mode="advisory"), Place()),
        (ConversationStarted(conversation_id(run, place), "none"), place),
        (TurnEnded("Nzuri", 0.0, user="Habari"), Place("head", _SCENARIO, 0, turn=1)),
        (ScoreLogged("VerifyMetric", "1", 1.0, 1.0, passed=True), place),
        (ConversationEnded("scored", passed=True), place),
    ]
    (traced,) = traced_runs(
        LoggedEvent(run, number, now + timedelta(milliseconds=number), Event(data, where))
        for number, (data, where) in enumerate(happened, 1)
    )
    return traced


def _send(access: LangfuseAccess, traced: TracedRun, server: LangfuseServer) -> None:
    delivery = deliver(access, [traced], server.lacking)
    if not delivery.complete:
        raise LangfuseError(f"the trace was not taken: {delivery.problem}")


def _keys(traced: TracedRun) -> frozenset[tuple[str, str]]:
    return frozenset((span.trace_id, span.span_id) for trace in traced.traces for span in trace.spans)


def _scores(server: LangfuseServer, traced: TracedRun) -> Any:
    name = traced.traces[0].trace_id
    found = ask(lambda: server.api.scores.get_many(trace_id=name, request_options=server.options), server.deadline)
    return found.data


def _copies(server: LangfuseServer, traced: TracedRun) -> str:
    name = traced.traces[0].trace_id
    found = ask(
        lambda: server.api.observations.get_many(trace_id=name, request_options=server.options), server.deadline
    )
    there = len(found.data), len(_scores(server, traced))
    if there != (traced.spans, traced.scores):
        raise LangfuseError(f"sent twice, there are {there[0]} spans and {there[1]} scores")
    return "sent twice, there is one copy of each"


def _wait(server: LangfuseServer, holds: "Callable[[], bool]", problem: str) -> None:
    pause = _FIRST_WAIT
    while not holds():
        if pause > server.deadline.seconds_left:
            raise LangfuseError(problem)
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_WAIT)
