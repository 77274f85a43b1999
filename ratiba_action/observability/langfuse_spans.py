"""Spans as Langfuse takes them: OTLP over HTTP, protobuf packed by gzip.

They are encoded by OpenTelemetry's own encoder. Its exporter is left out: it sends a request again when the answer to
the first was lost, which makes second copies on a server that keeps every span it is sent, and it does not tell how
many spans of a request a server refused.
"""

import gzip
import json
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

from ratiba_action.observability.traces.attributes import well_formed
from ratiba_action.observability.traces.model import AttributeValue, Span

_SCOPE = "langfuse-sdk"
"""The scope of the SDK's own spans: for it the server decodes metadata as the SDK encodes them."""

_RESOURCE = {"service.name": "ratiba-eval-gate"}
_PROTOBUF = "application/x-protobuf"


def span_headers(public_key: str) -> dict[str, str]:
    """Headers that choose version 4 of the ingestion, as the SDK's."""
    return {
        "content-type": _PROTOBUF,
        "content-encoding": "gzip",
        "x-langfuse-sdk-name": "python",
        "x-langfuse-sdk-version": version("langfuse"),
        "x-langfuse-public-key": public_key,
        "x-langfuse-ingestion-version": "4",
    }


def encoded_spans(spans: Sequence[Span], public_key: str) -> bytes:
    """The body of a request."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans  # noqa: PLC0415 - heavy

    content: bytes = encode_spans([_readable(span, public_key) for span in spans]).SerializeToString()
    return gzip.compress(content, mtime=0)


def refused_spans(content_type: str, body: bytes) -> tuple[int, str]:
    """How many spans of a request the server did not take, and why, by a successful answer."""
    if content_type.startswith(_PROTOBUF):
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 - heavy
            ExportTraceServiceResponse,
        )

        partial = ExportTraceServiceResponse.FromString(body).partial_success
        return max(int(partial.rejected_spans), 0), str(partial.error_message)
    try:
        told = json.loads(body or b"{}").get("partialSuccess") or {}
        return max(int(told.get("rejectedSpans") or 0), 0), str(told.get("errorMessage") or "")
    except (ValueError, AttributeError, TypeError):
        return 0, ""


def _readable(span: Span, public_key: str) -> Any:
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - heavy
    from opentelemetry.sdk.trace import ReadableSpan  # noqa: PLC0415 - the same
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415 - the same

    return ReadableSpan(
        name=well_formed(span.name),
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
        resource=Resource(_RESOURCE),
        attributes={name: _well_formed(value) for name, value in span.attributes.items()},
        instrumentation_scope=InstrumentationScope(_SCOPE, version("langfuse"), None, {"public_key": public_key}),
        start_time=_nanoseconds(span.start),
        end_time=_nanoseconds(span.end),
    )


def _well_formed(value: AttributeValue) -> AttributeValue:
    return well_formed(value) if isinstance(value, str) else tuple(well_formed(one) for one in value)


def _context(trace_id: str, span_id: str) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags  # noqa: PLC0415 - heavy

    sampled = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=sampled)


def _nanoseconds(moment: datetime) -> int:
    # In whole microseconds: a float of seconds since 1970 cannot tell nanoseconds apart.
    whole = int(moment.replace(microsecond=0).timestamp())
    return (whole * 1_000_000 + moment.microsecond) * 1000
