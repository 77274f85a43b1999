"""Sends runs to an OpenTelemetry collector: spans and evaluation events, as OTLP over HTTP in JSON.

Names are those of OpenTelemetry's semantic conventions for generative AI. Nothing of OpenTelemetry is needed for it;
tests hold the bodies against the definitions of ``opentelemetry.proto`` and the names against its own list.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ratiba_action.errors import ExchangeError
from ratiba_action.model.event import (
    ConversationEnded,
    EvaluationFailed,
    HandedOff,
    JudgeCalled,
    ModelCalled,
    PaymentChanged,
    StateTransition,
    ToolCalled,
    TurnEnded,
)
from ratiba_action.model.note import Note
from ratiba_action.observability.traces.attributes import LONGEST_TEXT, TRACE_METADATA, well_formed
from ratiba_action.observability.traces.model import Span, Trace, TracedRun, TraceScore, nanoseconds
from ratiba_action.observability.traces.scores import PASSED
from ratiba_action.util.http_exchange import (
    HttpAnswer,
    HttpQuestion,
    Peer,
    RetryPolicy,
    exchange,
    origin,
    repeat,
    retry_after,
)
from ratiba_action.util.text import clip, printable

Json = dict[str, Any]

_SERVICE = "ratiba-eval-gate"
_INTERNAL, _CLIENT = 1, 3
_ERROR_STATUS = 2
_INFO, _ERROR = 9, 17
_MAX_CHARACTERS = 1_000_000
"""Characters of a request's items, unless one item alone has more; the collector's own limit is 20 MB."""

_LONGEST_MESSAGE = 16_000
"""Characters of a message; as JSON it is still shorter than what a value may have."""

_RETRYABLE = frozenset({429, 502, 503, 504})
"""What OTLP's specification says may be sent again."""

_ONE_REQUEST = frozenset({400, 413})
"""What a collector refuses of one request, so that the next one may pass."""

_POLICY = RetryPolicy(first_seconds=0.25)
_PEER = Peer("The collector", "otlp-endpoint")
_MAX_PROBLEM = 300


@dataclass(frozen=True, slots=True)
class OtlpAccess:
    """A collector.

    Args:
        endpoint: base address, without a slash at its end.
        headers: sent with every request.
        seconds: that everything sent at once may take together.
    """

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = 10.0
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class OtlpDelivery:
    """What a collector has taken, of what there was.

    Args:
        endpoint: of the collector, without its path.
        spans: that the runs have; it took ``spans_there`` of them.
        events: the same of scores and other events.
        problem: why something is missing; empty when nothing is.
    """

    endpoint: str
    spans: int = 0
    spans_there: int = 0
    events: int = 0
    events_there: int = 0
    problem: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return (self.spans_there, self.events_there) == (self.spans, self.events)


def not_received(delivery: OtlpDelivery, events: str) -> str:
    """What a collector does not have, why, and how it gets it; empty when it has everything.

    Args:
        events: path of the log, as people know it.
    """
    if delivery.complete:
        return ""
    spans, others = delivery.spans - delivery.spans_there, delivery.events - delivery.events_there
    return Note(
        f"The OpenTelemetry collector did not take {spans} of {delivery.spans} spans and {others} of "
        f"{delivery.events} events of this run: {delivery.problem}. The verdict does not depend on it.",
        f"'ratiba report --resend-otlp {events}' sends them again, with the same ids.",
    )


def send(access: OtlpAccess, runs: Sequence[TracedRun]) -> OtlpDelivery:
    """Send runs within the time that they may take, and say what came of it; never raises for what a server does."""
    ends = time.monotonic() + access.seconds
    traces = [trace for run in runs for trace in run.traces]
    spans = [span_json(span) for trace in traces for span in trace.spans if _shows_span(span)]
    records = [record for trace in traces for record in records_json(trace)]
    problems: list[str] = []
    there = []
    for signal, items in ((_TRACES, spans), (_LOGS, records)):
        there.append(_send_signal(access, signal, items, ends, problems))
    return OtlpDelivery(
        origin(access.endpoint), len(spans), there[0], len(records), there[1], "; ".join(dict.fromkeys(problems))
    )


@dataclass(frozen=True, slots=True)
class _Signal:
    """One of the kinds of data that OTLP knows, and the names of its levels."""

    path: str
    resources: str
    scopes: str
    items: str
    rejected: str
    noun: str


_TRACES = _Signal("/v1/traces", "resourceSpans", "scopeSpans", "spans", "rejectedSpans", "spans")
_LOGS = _Signal("/v1/logs", "resourceLogs", "scopeLogs", "logRecords", "rejectedLogRecords", "events")


def _send_signal(access: OtlpAccess, signal: _Signal, items: Sequence[Json], ends: float, problems: list[str]) -> int:
    """How many of the items were taken."""
    taken = 0
    for batch, content in _batches(signal, items):
        try:
            answer = repeat(partial(_post, access, signal, content, ends), _POLICY, ends, lambda _: True)
        except ExchangeError as error:
            problems.append(printable(clip(error.problem, _MAX_PROBLEM)).rstrip("."))
            if error.status in _ONE_REQUEST:
                continue
            break
        refused, why = rejected(answer.body, signal.rejected)
        taken += batch - min(refused, batch)
        if refused:
            reason = f": {printable(clip(why, _MAX_PROBLEM))}" if why else ""
            problems.append(f"it rejected {refused} {signal.noun}{reason}")
    return taken


def _post(access: OtlpAccess, signal: _Signal, content: bytes, ends: float) -> HttpAnswer:
    headers = {**access.headers, "content-type": "application/json", "user-agent": _SERVICE}
    question = HttpQuestion("POST", f"{access.endpoint}{signal.path}", headers, _PEER, content)
    answer = exchange(question, access.environment, ends)
    if not 200 <= answer.status < 300:  # noqa: PLR2004 - what HTTP calls success
        raise ExchangeError(
            f"it answered {answer.status} at {signal.path}",
            status=answer.status,
            transient=answer.status in _RETRYABLE,
            wait_seconds=retry_after(answer),
        )
    return answer


def rejected(body: bytes, name: str) -> tuple[int, str]:
    """How many items of a request a server did not keep, and why, by a successful answer in JSON.

    Args:
        name: of the count, such as ``rejectedSpans``.
    """
    try:
        result = json.loads(body or b"{}").get("partialSuccess") or {}
        return max(int(result.get(name) or 0), 0), str(result.get("errorMessage") or "")
    except (ValueError, AttributeError, TypeError, RecursionError):
        return 0, ""


def _batches(signal: _Signal, items: Iterable[Json]) -> Iterator[tuple[int, bytes]]:
    """How many items a request has, and its body."""
    batch: list[str] = []
    for text in (json.dumps(item, allow_nan=False, separators=(",", ":")) for item in items):
        if batch and sum(map(len, batch)) + len(text) > _MAX_CHARACTERS:
            yield len(batch), _body(signal, batch)
            batch = []
        batch.append(text)
    if batch:
        yield len(batch), _body(signal, batch)


def _body(signal: _Signal, batch: Sequence[str]) -> bytes:
    resource = json.dumps({"attributes": _attributes({"service.name": _SERVICE})})
    scope = json.dumps({"name": _SERVICE})
    return (
        f'{{"{signal.resources}":[{{"resource":{resource},"{signal.scopes}":'
        f'[{{"scope":{scope},"{signal.items}":[{",".join(batch)}]}}]}}]}}'
    ).encode()


_LOGGED: Mapping[type, str] = {
    EvaluationFailed: "ratiba.EVAL_FAIL",
    StateTransition: "ratiba.state_transition",
    PaymentChanged: "ratiba.payment",
    HandedOff: "ratiba.hand_off",
}
"""Events without a duration, which are log records instead of spans."""


def _shows_span(span: Span) -> bool:
    return type(span.shown) not in _LOGGED


def span_json(span: Span) -> Json:
    """A span of a conversation, a turn, a tool, or a call of a model or judge."""
    name, kind, problem, own = _described(span)
    carried = {
        f"ratiba.{key.removeprefix(f'{TRACE_METADATA}.')}": value
        for key, value in span.attributes.items()
        if key.startswith(f"{TRACE_METADATA}.")
    }
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        **({"parentSpanId": span.parent_id} if span.parent_id else {}),
        "name": _text(name),
        "kind": kind,
        "startTimeUnixNano": str(nanoseconds(span.start)),
        "endTimeUnixNano": str(nanoseconds(span.end)),
        "attributes": _attributes({**carried, "gen_ai.conversation.id": span.trace_id, **own}),
        "status": {"code": _ERROR_STATUS, "message": _text(problem)} if problem else {},
    }


def _described(span: Span) -> tuple[str, int, str, Json]:
    """Name, kind, problem and attributes of a span."""
    data = span.shown
    if isinstance(data, ModelCalled | JudgeCalled):
        own = _call(data)
        if isinstance(data, JudgeCalled):
            own |= {"gen_ai.evaluation.name": data.metric, "ratiba.metric_version": data.version}
        return f"chat {data.model}".rstrip(), _CLIENT, "", own
    if isinstance(data, ToolCalled):
        own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": data.name}
        return f"execute_tool {data.name}", _INTERNAL, "", own | {"ratiba.args_sha256": data.args_sha256}
    if isinstance(data, TurnEnded):
        own = {"ratiba.replayed": data.replayed, "gen_ai.output.messages": _message("assistant", data.reply)}
        given = {"ratiba.event": data.event} if data.user is None else {}
        asked = {} if data.user is None else {"gen_ai.input.messages": _message("user", data.user)}
        return span.name, _INTERNAL, "", own | given | asked
    own = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": span.name}
    return f"invoke_agent {span.name}", _INTERNAL, *_ending(data if isinstance(data, ConversationEnded) else None, own)


def _ending(last: ConversationEnded | None, own: Json) -> tuple[str, Json]:
    if last is None:
        return "its run was killed", own
    own |= {"ratiba.outcome": last.outcome, "ratiba.passed": last.passed}
    if last.outcome == "scored":
        return ("" if last.passed is not False else last.reason or "failed"), own
    return f"{last.outcome}: {last.reason}", own | {"error.type": last.phase or last.outcome}


def _call(data: ModelCalled | JudgeCalled) -> Json:
    usage = data.usage
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": data.provider,
        "gen_ai.request.model": data.model,
        # The conventions count cached tokens in; the gate's own number leaves them out.
        "gen_ai.usage.input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens or None,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens or None,
        "ratiba.party": data.party,
        "ratiba.replayed": data.replayed,
        "ratiba.cached": data.cached if isinstance(data, JudgeCalled) else None,
        "ratiba.cost_usd": None if data.cost_usd is None else float(data.cost_usd),
        "ratiba.list_price_usd": None if data.list_price_usd is None else float(data.list_price_usd),
    }


def _message(role: str, text: str) -> str:
    content = [{"role": role, "parts": [{"type": "text", "content": text[:_LONGEST_MESSAGE]}]}]
    return json.dumps(content, ensure_ascii=False)


def records_json(trace: Trace) -> Iterator[Json]:
    """The events of a conversation: each score, and each span that has no duration of its own."""
    for span in trace.spans:
        data = span.shown
        name = _LOGGED.get(type(data))
        if name is not None:
            failed = isinstance(data, EvaluationFailed)
            own = {f"ratiba.{key}": value for key, value in _fields(data).items()}
            yield _record(name, nanoseconds(span.end), (trace.trace_id, span.parent_id), own, failed=failed)
    turns = {span.name: span.span_id for span in trace.spans if isinstance(span.shown, TurnEnded)}
    for score in trace.scores:
        evaluated = turns.get(f"turn {score.metadata.get('turn')}", trace.spans[0].span_id)
        yield _record(
            "gen_ai.evaluation.result", nanoseconds(score.at), (trace.trace_id, evaluated), _evaluation(score)
        )


def _fields(data: Any) -> Json:
    return {name: getattr(data, name) for name in data.__dataclass_fields__}


def _evaluation(score: TraceScore) -> Json:
    passed = score.value == 1 if score.name == PASSED else score.metadata.get("passed") == "true"
    return {
        "gen_ai.evaluation.name": score.name,
        "gen_ai.evaluation.score.value": float(score.value),
        "gen_ai.evaluation.score.label": "pass" if passed else "fail",
        "gen_ai.evaluation.explanation": score.comment,
        **{f"ratiba.{name}": value for name, value in score.metadata.items() if name != "passed"},
    }


def _record(name: str, at: int, place: tuple[str, str], own: Json, *, failed: bool = False) -> Json:
    return {
        "timeUnixNano": str(at),
        "observedTimeUnixNano": str(at),
        "severityNumber": _ERROR if failed else _INFO,
        "severityText": "ERROR" if failed else "INFO",
        "eventName": name,
        "traceId": place[0],
        "spanId": place[1],
        "attributes": _attributes(own),
    }


def _attributes(values: Json) -> list[Json]:
    """OTLP's list of attributes; None and empty texts are left out."""
    return [{"key": name, "value": _value(value)} for name, value in values.items() if value not in (None, "")]


def _value(value: object) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": _text(str(value))}


def _text(text: str) -> str:
    return well_formed(text[:LONGEST_TEXT])
