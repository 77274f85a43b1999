"""Sends runs to Langfuse: what is there already is left out, and the caller waits no longer than it wants to."""

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from ratiba_action.model.verdict import TraceDelivery, TraceLink
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess, LangfuseError
from ratiba_action.observability.langfuse_server import OBSERVATIONS, TRACES, LangfuseServer, connected
from ratiba_action.observability.traces.attributes import shortened, well_formed
from ratiba_action.observability.traces.metadata import as_experiment
from ratiba_action.observability.traces.model import Span, Trace, TracedRun, TraceScore
from ratiba_action.util.text import clip

_SPANS = 200
"""Most spans of a request, unless one conversation has more."""

_CHARACTERS = 2_000_000
"""Most characters of a request's spans, the same exception made: Langfuse refuses a body of more than 4.5 MB."""

_SCORES = 100
_PROBLEMS = 5
_MAX_PROBLEM = 300
"""Most characters that are repeated of what a server, or a client, says about a failure."""

_PROJECT = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)


def deliver(access: LangfuseAccess, runs: Sequence[TracedRun], lacking: list[str] | None = None) -> TraceDelivery:
    """Send runs, and say what came of it; never raises for what a server does.

    Spans are asked for first, by their run, and only those that are not there are sent: a server keeps a span as often
    as it is sent. One that cannot say what it has (status 404) is sent everything. Scores are overwritten by their
    id. It all happens on a thread of its own, so that a look-up of a
    name or an answer that trickles cannot hold the caller; a thread that is late ends with the process.

    Args:
        access: with the seconds that all of it may take.
        lacking: what the server is known to lack; what it turns out to lack is added.
    """
    delivery = _Delivery(access, runs, [] if lacking is None else lacking)
    thread = threading.Thread(target=delivery.send, name="langfuse", daemon=True)
    thread.start()
    thread.join(access.seconds)
    return delivery.close()


@dataclass(slots=True)
class _Delivery:
    """What is known of a delivery while it goes on; nothing more is counted after it was closed."""

    access: LangfuseAccess
    runs: Sequence[TracedRun]
    lacking: list[str]
    project: str = ""
    spans_there: set[tuple[str, str]] = field(default_factory=set)
    spans_refused: int = 0
    scores_there: int = 0
    problems: list[str] = field(default_factory=list)
    unverified: str = ""
    done: bool = False
    closed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self) -> None:
        """Send everything; every failure becomes a problem."""
        deadline = Deadline.after(self.access.seconds)
        try:
            with connected(self.access, deadline) as server:
                self._send_to(replace(server, lacking=self.lacking))
            self.done = True
        except LangfuseError as error:
            self._note(str(error))
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises must not end the run
            self._note(f"{type(error).__name__}: {error}")

    def close(self) -> TraceDelivery:
        """What was taken until now."""
        with self.lock:
            self.closed = True
            spans, scores = sum(run.spans for run in self.runs), sum(run.scores for run in self.runs)
            there = max(len(self.spans_there) - self.spans_refused, 0)
            problems = list(dict.fromkeys(self.problems))[:_PROBLEMS]
            if not self.done and not problems:
                problems = [f"it did not answer within {self.access.seconds:g} seconds"]
            return TraceDelivery(
                host=self.access.host,
                traces=sum(len(run.traces) for run in self.runs),
                spans=spans,
                spans_there=there,
                scores=scores,
                scores_there=self.scores_there,
                problem="; ".join(problems),
                unverified=self.unverified,
                links=tuple(self._links()),
                run_url=self._run_url(),
            )

    def _send_to(self, server: LangfuseServer) -> None:
        self.project = server.project()
        for run in self.runs:
            known = server.spans_of(shortened(run.run))
            there = known or frozenset()
            with self.lock:
                if known is None:
                    self.unverified = f"it has neither {OBSERVATIONS} nor {TRACES}"
                self.spans_there |= {key for key in _keys(run) if key in there}
            datasets = server.suite_datasets(run.dataset) if run.dataset else {}
            experiment = as_experiment(run, self.project, datasets)
            for spans in _batches(experiment.traces, there):
                self._send_spans(server, spans)
            scores = [score for trace in experiment.traces for score in trace.scores]
            scores += experiment.experiment_scores
            for start in range(0, len(scores), _SCORES):
                self._send_scores(server, scores[start : start + _SCORES])

    def _send_spans(self, server: LangfuseServer, spans: Sequence[Span]) -> None:
        try:
            refused, why = server.send_spans(spans)
        except LangfuseError as error:
            self._unless_final(error)
            return
        with self.lock:
            if not self.closed:
                self.spans_there |= {(span.trace_id, span.span_id) for span in spans}
                self.spans_refused += refused
        if refused:
            self._note(f"it refused {refused} spans" + (f": {why}" if why else ""))

    def _send_scores(self, server: LangfuseServer, scores: Sequence[TraceScore]) -> None:
        try:
            refused, why = server.send_scores(scores)
        except LangfuseError as error:
            self._unless_final(error)
            return
        with self.lock:
            if not self.closed:
                self.scores_there += len(scores) - refused
        if refused:
            self._note(f"it refused {refused} scores" + (f": {why}" if why else ""))

    def _unless_final(self, error: LangfuseError) -> None:
        if error.final:
            raise error
        self._note(str(error))

    def _note(self, problem: str) -> None:
        with self.lock:
            if not self.closed:
                self.problems.append(clip(problem, _MAX_PROBLEM))

    def _run_url(self) -> str:
        if len(self.runs) != 1 or not self.spans_there or not _PROJECT.fullmatch(self.project):
            return ""
        session = quote(well_formed(shortened(self.runs[0].run)), safe="")
        return f"{self.access.host}/project/{self.project}/sessions/{session}"

    def _links(self) -> Iterator[TraceLink]:
        if not _PROJECT.fullmatch(self.project):
            return
        for run in self.runs:
            for trace in run.traces:
                if (trace.trace_id, trace.spans[0].span_id) in self.spans_there:
                    url = f"{self.access.host}/project/{self.project}/traces/{trace.trace_id}"
                    yield TraceLink(trace.label, url, trace.passed)


def _keys(run: TracedRun) -> Iterator[tuple[str, str]]:
    return ((span.trace_id, span.span_id) for trace in run.traces for span in trace.spans)


def _batches(traces: Sequence[Trace], there: frozenset[tuple[str, str]]) -> Iterator[Sequence[Span]]:
    """What is not there yet; the spans of one conversation stay together."""
    batch: list[Span] = []
    characters = 0
    for trace in traces:
        missing = [span for span in trace.spans if (span.trace_id, span.span_id) not in there]
        size = sum(_characters(span) for span in missing)
        if batch and (len(batch) + len(missing) > _SPANS or characters + size > _CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch, characters = [*batch, *missing], characters + size
    if batch:
        yield batch


def _characters(span: Span) -> int:
    return sum(len(name) + (len(value) if isinstance(value, str) else 0) for name, value in span.attributes.items())
