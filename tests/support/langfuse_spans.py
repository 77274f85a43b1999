"""Spans of a stand-in for Langfuse: taken by OTLP, read back as observations."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tests.support.langfuse_pages import numbered_page, page_after
from tests.support.langfuse_state import (
    PROJECT_ID,
    Answer,
    LangfuseState,
    Mode,
    Received,
    TakenSpan,
    in_time,
    refused,
)

_NANOSECONDS = 1_000_000_000
_MAX = 1000
_MAX_TRACES = 100
_MAX_METADATA = 200
_EQUAL = {
    "traceId": "traceId",
    "sessionId": "sessionId",
    "userId": "userId",
    "name": "name",
    "type": "type",
    "level": "level",
    "version": "version",
    "environment": "environment",
    "parentObservationId": "parentObservationId",
}
_METADATA = "langfuse.observation.metadata"
_GROUPS = {
    "basic": ("name", "level", "statusMessage", "version", "environment", "userId", "sessionId", "isRootObservation"),
    "io": ("input", "output"),
    "metadata": ("metadata",),
    "model": ("model",),
    "usage": ("usageDetails", "costDetails", "totalCost"),
    "trace_context": ("tags", "traceName"),
}
_OTHER_GROUPS = frozenset({"core", "time", "prompt", "metrics"})


def take_spans(state: LangfuseState, request: Received) -> Answer:
    """``POST /api/public/otel/v1/traces``: gzip and protobuf, decoded by OpenTelemetry's own classes."""
    headers = request.headers
    expected = {
        "content-type": "application/x-protobuf",
        "content-encoding": "gzip",
        "x-langfuse-ingestion-version": "4",
    }
    wrong = [f"{name} is {headers.get(name)!r}" for name, value in expected.items() if headers.get(name) != value]
    if wrong:
        state.violations.append(f"spans: {'; '.join(wrong)}")
        return refused(400, "unsupported")
    spans = list(decoded(request.content))
    state.violations += [problem for span in spans for problem in _problems(span)]
    kept = spans[::2] if state.mode is Mode.REJECTING else spans
    state.spans += kept
    if state.numbers < (4, 0):
        state.spans = list({(span.trace_id, span.span_id): span for span in state.spans}.values())
    if len(kept) < len(spans):
        partial = {"rejectedSpans": len(spans) - len(kept), "errorMessage": "every second span is refused"}
        return Answer(200, {"partialSuccess": partial})
    return Answer(200, {})


def decoded(content: bytes) -> Iterator[TakenSpan]:
    """The spans of an export request."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
    )

    for resource in ExportTraceServiceRequest.FromString(gzip.decompress(content)).resource_spans:
        shared = _attributes(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield TakenSpan(
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    name=span.name,
                    start=span.start_time_unix_nano,
                    end=span.end_time_unix_nano,
                    attributes={**shared, **_attributes(span.attributes)},
                )


def _attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind) if kind else None


def _problems(span: TakenSpan) -> Iterator[str]:
    """What Langfuse would not read as it was meant."""
    from langfuse import LangfuseOtelSpanAttributes

    known = {value for name, value in vars(LangfuseOtelSpanAttributes).items() if not name.startswith("_")}
    if not int(span.trace_id, 16) or not int(span.span_id, 16):
        yield f"{span.name}: an id of zeros"
    if not 0 < span.start <= span.end:
        yield f"{span.name}: it ends at {span.end}, before its start at {span.start}"
    for name, value in span.attributes.items():
        own = name.startswith("langfuse.") and not name.startswith((f"{_METADATA}.", "langfuse.trace.metadata."))
        if own and name not in known:
            yield f"{span.name}: Langfuse knows no attribute {name!r}"
        if name.endswith("_details"):
            yield from _not_numbers(span.name, name, value)


def _not_numbers(span: str, name: str, text: Any) -> Iterator[str]:
    read = json.loads(text)
    kinds = int if name.endswith("usage_details") else (int, float)
    if not all(isinstance(amount, kinds) and amount >= 0 for amount in read.values()):
        yield f"{span}: {name} is {text!r}"


def list_observations(state: LangfuseState, query: Mapping[str, str]) -> Answer:
    """``GET /api/public/v2/observations``, newest first."""
    times = {"fromStartTime", "toStartTime"}
    unknown = set(query) - {*_EQUAL, *times, "fields", "limit", "cursor", "isRootObservation", "expandMetadata"}
    groups = set(query.get("fields", "basic").split(","))
    limit = int(query.get("limit", "50"))
    if unknown or groups - {*_GROUPS, *_OTHER_GROUPS} or not 1 <= limit <= _MAX:
        return refused(400, f"not understood: {sorted(unknown)}, fields {sorted(groups)}, limit {limit}")
    seen = [observation_of(span) for span in state.spans] if state.visible else []
    found = [one for one in sorted(seen, key=lambda one: str(one["startTime"]), reverse=True) if _asked(one, query)]
    page, meta = page_after(found, query.get("cursor"), limit)
    return Answer(200, {"data": [_with_fields(one, groups, query) for one in page], "meta": meta})


def list_traces(state: LangfuseState, query: Mapping[str, str]) -> Answer:
    """``GET /api/public/traces`` of version 3, of which a page has at most 100; SDK 5 has no model of it."""
    unknown = set(query) - {"sessionId", "fields", "limit", "page"}
    if unknown or not 1 <= int(query.get("limit", "50")) <= _MAX_TRACES:
        return refused(400, f"not understood: {sorted(unknown)}, limit {query.get('limit')}")
    found: dict[str, list[str]] = {}
    for span in state.spans if state.visible else []:
        if span.attributes.get("session.id") == query["sessionId"]:
            found.setdefault(span.trace_id, []).append(span.span_id)
    page, meta = numbered_page(list(found.items()), query)
    text = "observations" in query["fields"].split(",")
    rows = [{"id": trace, "observations": spans if text else None} for trace, spans in page]
    return Answer(200, {"data": rows, "meta": meta})


def _asked(one: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    started = in_time(one["startTime"])
    return (
        all(str(one.get(_EQUAL[name]) or "") == wanted for name, wanted in query.items() if name in _EQUAL)
        and ("isRootObservation" not in query or str(one["isRootObservation"]).lower() == query["isRootObservation"])
        and ("fromStartTime" not in query or in_time(query["fromStartTime"]) <= started)
        and ("toStartTime" not in query or started < in_time(query["toStartTime"]))
    )


def _with_fields(one: Mapping[str, Any], groups: Iterable[str], query: Mapping[str, str]) -> dict[str, Any]:
    left_out = {name for group, names in _GROUPS.items() if group not in groups for name in names}
    whole = query.get("expandMetadata", "").split(",")
    cut = {name: value if name in whole else _cut(value) for name, value in one["metadata"].items()}
    return {name: value for name, value in {**one, "metadata": cut}.items() if name not in left_out}


def _cut(value: Any) -> Any:
    """A value of metadata that was not asked for by name."""
    text = value if isinstance(value, str) else json.dumps(value)
    return value if len(text) <= _MAX_METADATA else text[:_MAX_METADATA]


def observation_of(span: TakenSpan) -> dict[str, Any]:
    """A span as the API gives it back, with every field group."""
    text = span.attributes
    cost = json.loads(text.get("langfuse.observation.cost_details", "{}"))
    return {
        "id": span.span_id,
        "traceId": span.trace_id,
        "startTime": _moment(span.start),
        "endTime": _moment(span.end),
        "projectId": PROJECT_ID,
        "parentObservationId": span.parent_id or None,
        "type": str(text.get("langfuse.observation.type", "span")).upper(),
        "isRootObservation": not span.parent_id,
        "name": span.name,
        "level": text.get("langfuse.observation.level", "DEFAULT"),
        "statusMessage": text.get("langfuse.observation.status_message"),
        "version": text.get("langfuse.version"),
        "environment": text.get("langfuse.environment", "default"),
        "userId": text.get("user.id"),
        "sessionId": text.get("session.id"),
        "input": text.get("langfuse.observation.input"),
        "output": text.get("langfuse.observation.output"),
        "metadata": dict(_metadata(text)),
        "model": text.get("langfuse.observation.model.name"),
        "usageDetails": json.loads(text.get("langfuse.observation.usage_details", "{}")),
        "costDetails": cost,
        "totalCost": sum(cost.values()),
        "traceName": text.get("langfuse.trace.name"),
        "tags": text.get("langfuse.trace.tags", []),
    }


def _metadata(reported: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in reported.items():
        if name.startswith((f"{_METADATA}.", "langfuse.trace.metadata.")):
            # The client encodes every value as JSON on an observation, and none on a trace.
            plain = json.loads(value) if name.startswith(_METADATA) else value
            yield name.split(".metadata.", 1)[1], plain


def _moment(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, _NANOSECONDS)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
