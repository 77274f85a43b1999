"""One project on a Langfuse server, within one deadline, and spans as it takes them: OTLP over HTTP, gzip.

Spans are encoded by OpenTelemetry's own encoder. Its exporter is left out: it sends a request again when the answer to
the first was lost, which makes second copies, and it does not report how many spans a server refused.
"""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess, LangfuseError, ask
from ratiba_action.observability.otlp import rejected
from ratiba_action.observability.traces.attributes import well_formed
from ratiba_action.observability.traces.conversations import ENVIRONMENT
from ratiba_action.observability.traces.datasets import case_dataset, cases_apart
from ratiba_action.observability.traces.model import AttributeValue, Span, TraceScore, nanoseconds
from ratiba_action.util.installation import install_command

if TYPE_CHECKING:
    import httpx
    from langfuse.api import CreateScoreRequest, LangfuseAPI
    from langfuse.api.core.request_options import RequestOptions


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
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    content: bytes = encode_spans([_readable(span, public_key) for span in spans]).SerializeToString()
    return gzip.compress(content, mtime=0)


def refused_spans(content_type: str, body: bytes) -> tuple[int, str]:
    """How many spans of a request the server did not take, and why, by a successful answer."""
    if content_type.startswith(_PROTOBUF):
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceResponse,
        )

        partial = ExportTraceServiceResponse.FromString(body).partial_success
        return max(int(partial.rejected_spans), 0), str(partial.error_message)
    return rejected(body, "rejectedSpans")


def _readable(span: Span, public_key: str) -> Any:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    return ReadableSpan(
        name=well_formed(span.name),
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
        resource=Resource(_RESOURCE),
        attributes={name: _well_formed(value) for name, value in span.attributes.items()},
        instrumentation_scope=InstrumentationScope(_SCOPE, version("langfuse"), None, {"public_key": public_key}),
        start_time=nanoseconds(span.start),
        end_time=nanoseconds(span.end),
    )


def _well_formed(value: AttributeValue) -> AttributeValue:
    return well_formed(value) if isinstance(value, str) else tuple(well_formed(text) for text in value)


def _context(trace_id: str, span_id: str) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    sampled = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=sampled)


_PAGE = 1000
_TRACES = 100
"""Most traces of a page of the older list."""
_SCORES = 100
_APART = 100
"""Most datasets of files of cases that are looked up."""
_REASONS = 3
_REFUSED = 400
_MISSING = 404

OBSERVATIONS = "GET /api/public/v2/observations"
"""Asks which spans are there; Langfuse 3 answers 404."""

TRACES = "GET /api/public/traces"
"""The same on older servers; version 4 answers 404, unless it is in the write mode ``dual``."""

SCORE_LISTS = "POST /api/public/scores with a list"
"""Since version 4.59; older servers answer 400, and get scores in events of the ingestion."""


@contextmanager
def connected(access: LangfuseAccess, deadline: Deadline) -> "Iterator[LangfuseServer]":
    """A server to ask, until the block ends.

    Raises:
        LangfuseError: the package is not installed.
    """
    try:
        import httpx  # most runs send nothing
        from langfuse.api import LangfuseAPI
    except ImportError as error:
        problem = f"the package {error.name} is not installed: run {install_command('langfuse')}"
        raise LangfuseError(problem) from None
    proxy = None
    if access.proxy is not None:
        headers = {"Proxy-Authorization": access.proxy.credentials}
        proxy = httpx.Proxy(f"http://{access.proxy.address}", headers=headers)
    # No redirect is followed: it might lead the keys elsewhere.
    with httpx.Client(timeout=deadline.timeout(), follow_redirects=False, proxy=proxy) as http:
        api = LangfuseAPI(
            base_url=access.host, username=access.public_key, password=access.secret_key, httpx_client=http
        )
        yield LangfuseServer(access, api, http, deadline)


@dataclass(frozen=True, slots=True)
class LangfuseServer:
    """Asks and sends, through the SDK's own client of the REST API.

    Args:
        api: made with ``http``.
        deadline: for everything together.
        lacking: what it turned out not to have, and is not asked for again.
    """

    access: LangfuseAccess
    api: "LangfuseAPI"
    http: "httpx.Client"
    deadline: Deadline
    lacking: list[str] = field(default_factory=list)

    @property
    def options(self) -> "RequestOptions":
        """Of one request: no more time than is left, and no repeats but our own.

        Raises:
            LangfuseError: no time is left.
        """
        # The type asks for whole seconds; the client hands the number on as it is.
        return {"timeout_in_seconds": self.deadline.timeout(), "max_retries": 0}  # type: ignore[typeddict-item]

    def project(self) -> str:
        """Id of the project that the keys open.

        Raises:
            LangfuseError: there is none, or no answer.
        """
        projects = ask(lambda: self.api.projects.get(request_options=self.options), self.deadline)
        if not projects.data:
            raise LangfuseError("the keys open no project")
        return str(projects.data[0].id)

    def dataset(self, name: str) -> str:
        """Id of a dataset; empty when there is none of that name.

        Raises:
            LangfuseError: no answer.
        """
        found = ask(lambda: self._dataset(name), self.deadline)
        return "" if found is None else str(found.id)

    def suite_datasets(self, name: str) -> dict[str, str]:
        """Ids of a suite's dataset, below an empty name, and of those of its files of cases, by the file's id.

        Raises:
            LangfuseError: no answer.
        """
        found = ask(lambda: self._dataset(name), self.deadline)
        if found is None:
            return {}
        apart = {cases: self.dataset(case_dataset(name, cases)) for cases in cases_apart(found.metadata)[:_APART]}
        return {"": str(found.id)} | {cases: dataset for cases, dataset in apart.items() if dataset}

    def _dataset(self, name: str) -> Any:
        from langfuse.api import NotFoundError

        try:
            return self.api.datasets.get(quote(name, safe=""), request_options=self.options)
        except NotFoundError:
            return None

    def spans_of(self, run: str) -> frozenset[tuple[str, str]] | None:
        """Trace and span id of everything that is there of a run; None when the server has no way to tell.

        Raises:
            LangfuseError: no answer.
        """
        for endpoint, read in ((OBSERVATIONS, self._observed), (TRACES, self._listed)):
            if endpoint in self.lacking:
                continue
            try:
                return read(run)
            except LangfuseError as error:
                if error.status != _MISSING:
                    raise
                self.lacking.append(endpoint)
        return None

    def _observed(self, run: str) -> frozenset[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        cursor: str | None = None
        while True:
            page = self._page(run, cursor)
            found |= {(str(span.trace_id), str(span.id)) for span in page.data}
            cursor = page.meta.cursor
            if not cursor:
                return frozenset(found)

    def _page(self, run: str, cursor: str | None) -> Any:
        return ask(
            lambda: self.api.observations.get_many(
                session_id=run, fields="core", limit=_PAGE, cursor=cursor, request_options=self.options
            ),
            self.deadline,
        )

    def _listed(self, run: str) -> frozenset[tuple[str, str]]:
        """As ``spans_of``, by the list of traces, which SDK 5 no longer has."""
        found: set[tuple[str, str]] = set()
        number = 1
        while True:
            query = {"sessionId": run, "fields": "core,observations", "limit": _TRACES, "page": number}
            page = ask(lambda query=query: self._json("GET", "traces", params=query), self.deadline)  # type: ignore[misc]
            try:
                found |= {
                    (str(trace["id"]), str(span)) for trace in page["data"] for span in trace["observations"] or ()
                }
                last = not page["data"] or number >= int(page["meta"]["totalPages"])
            except (LookupError, TypeError, ValueError) as error:
                raise LangfuseError("its answer is not one of Langfuse's") from error
            if last:
                return frozenset(found)
            number += 1

    def _json(self, method: str, path: str, **request: Any) -> Any:
        """An endpoint that SDK 5 does not have."""
        answer = self._request(method, path, **request)
        try:
            return answer.json()
        except (ValueError, RecursionError) as error:
            raise LangfuseError("its answer is not one of Langfuse's") from error

    def _request(self, method: str, path: str, **request: Any) -> "httpx.Response":
        from langfuse.api.core import ApiError

        answer = self.http.request(
            method,
            f"{self.access.host}/api/public/{path}",
            auth=(self.access.public_key, self.access.secret_key),
            timeout=self.deadline.timeout(),
            **request,
        )
        if not answer.is_success:
            raise ApiError(status_code=answer.status_code, headers=dict(answer.headers), body=answer.text)
        return answer

    def scores(self, **wanted: Any) -> Iterator[Any]:
        """Every score of a period, page by page.

        Args:
            wanted: filters of the SDK's ``scores.get_many``, such as ``name``, ``from_timestamp`` and ``to_timestamp``.

        Raises:
            LangfuseError: no answer.
        """
        cursor: str | None = None
        while True:
            page = self._page_of_scores(wanted, cursor)
            yield from page.data
            cursor = page.meta.cursor
            if not cursor:
                return

    def _page_of_scores(self, wanted: Mapping[str, Any], cursor: str | None) -> Any:
        return ask(
            lambda: self.api.scores.get_many(
                **wanted, fields="details,subject", limit=_SCORES, cursor=cursor, request_options=self.options
            ),
            self.deadline,
        )

    def send_spans(self, spans: Sequence[Span]) -> tuple[int, str]:
        """Send spans, once: one that was taken without an answer would be there twice.

        Returns:
            How many it refused, and why.

        Raises:
            LangfuseError: it took none, or did not say.
        """
        body = encoded_spans(spans, self.access.public_key)
        headers = span_headers(self.access.public_key)
        answer = ask(
            lambda: self._request("POST", "otel/v1/traces", content=body, headers=headers), self.deadline, once=True
        )
        return refused_spans(answer.headers.get("content-type", ""), answer.content)

    def send_scores(self, scores: Sequence[TraceScore]) -> tuple[int, str]:
        """Send scores; one that is there already is overwritten.

        Returns:
            How many it refused, and why.

        Raises:
            LangfuseError: it took none, or did not say.
        """
        if SCORE_LISTS not in self.lacking:
            try:
                return self._send_list(scores)
            except LangfuseError as error:
                if error.status != _REFUSED:
                    raise
                self.lacking.append(SCORE_LISTS)
        return self._send_events(scores)

    def _send_list(self, scores: Sequence[TraceScore]) -> tuple[int, str]:
        from langfuse.api.scores.types.create_score_batch_results import (
            CreateScoreBatchResults,
        )

        made = [_request(score) for score in scores]
        answer = ask(lambda: self.api.scores.create(request=made, request_options=self.options), self.deadline)
        if isinstance(answer, CreateScoreBatchResults):
            reasons = dict.fromkeys(error.message for error in answer.errors)
            return max(answer.rejected, 0), "; ".join(list(reasons)[:_REASONS])
        return 0, ""

    def _send_events(self, scores: Sequence[TraceScore]) -> tuple[int, str]:
        """As ``send_scores``, by the ingestion, which SDK 5 no longer has; an event repeats with its score's id."""
        batch = [
            {
                "id": score.score_id,
                "type": "score-create",
                "timestamp": score.at.isoformat(),
                "body": _body(score),
            }
            for score in scores
        ]
        answer = ask(lambda: self._json("POST", "ingestion", json={"batch": batch}), self.deadline)
        try:
            reasons = dict.fromkeys(str(error.get("message") or error.get("error")) for error in answer["errors"])
            return len(answer["errors"]), "; ".join(list(reasons)[:_REASONS])
        except (LookupError, TypeError, AttributeError) as error:
            raise LangfuseError("its answer is not one of Langfuse's") from error


def _request(score: TraceScore) -> "CreateScoreRequest":
    from langfuse.api import CreateScoreRequest, ScoreDataType

    return CreateScoreRequest(
        id=score.score_id,
        trace_id=score.trace_id or None,
        dataset_run_id=score.experiment_id or None,
        name=well_formed(score.name),
        value=score.value,
        data_type=ScoreDataType(score.kind),
        comment=well_formed(score.comment) or None,
        metadata={name: well_formed(value) for name, value in score.metadata.items()} or None,
        environment=ENVIRONMENT,
        timestamp=score.at,
    )


def _body(score: TraceScore) -> dict[str, Any]:
    """A score as an event of the ingestion has it: the event's time is the score's."""
    values = json.loads(_request(score).json())
    return {name: value for name, value in values.items() if value is not None and name != "timestamp"}
