"""What a collector is sent, held against OpenTelemetry's own definitions; and what happens when it is not well."""

import base64
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.event import (
    ConversationEnded,
    ConversationStarted,
    EvaluationFailed,
    Event,
    Happening,
    LoggedEvent,
    Place,
    TurnEnded,
    conversation_id,
)
from ratiba_action.observability.otlp import OtlpAccess, OtlpDelivery, not_received, records_json, send, span_json
from ratiba_action.observability.traces.conversations import traced_runs
from ratiba_action.observability.traces.model import TracedRun
from tests.support.event_samples import sample_events
from tests.support.logged_runs import BEGAN, RUN, logged, logged_run
from tests.support.receiver import Posted, Receiver, Reply, receiver

PLACE = Place("head", "spa_booking", 0)


def access(server: Receiver, seconds: float = 60.0) -> OtlpAccess:
    return OtlpAccess(server.address, {"authorization": "Bearer PLANTED"}, seconds)


def deliver(server: Receiver, seconds: float = 5.0, runs: tuple[TracedRun, ...] = ()) -> OtlpDelivery:
    return send(access(server, seconds), runs or traced_runs(logged_run(2)))


def items(posted: Posted) -> list[dict[str, Any]]:
    resource, scope, name = {
        "/v1/traces": ("resourceSpans", "scopeSpans", "spans"),
        "/v1/logs": ("resourceLogs", "scopeLogs", "logRecords"),
    }[posted.path]
    (resources,) = json.loads(posted.body)[resource]
    assert resources["resource"]["attributes"] == [
        {"key": "service.name", "value": {"stringValue": "ratiba-eval-gate"}}
    ]
    (scopes,) = resources[scope]
    found: list[dict[str, Any]] = scopes[name]
    return found


def attributes(item: dict[str, Any]) -> dict[str, Any]:
    return {entry["key"]: next(iter(entry["value"].values())) for entry in item["attributes"]}


def require_otlp(path: str, body: bytes) -> None:
    """Refuse a body that the definitions do not describe: an unknown name, a wrong type, an id of a wrong length."""
    reason = "needs the extra 'langfuse'"
    parse = pytest.importorskip("google.protobuf.json_format", reason=reason).Parse
    signal = "trace" if path == "/v1/traces" else "logs"
    service = f"opentelemetry.proto.collector.{signal}.v1.{signal}_service_pb2"
    module = pytest.importorskip(service, reason=reason)

    def plain(value: Any) -> Any:
        """OTLP writes ids in hexadecimal digits where the mapping of protobuf has Base64."""
        if isinstance(value, list):
            return [plain(one) for one in value]
        if not isinstance(value, dict):
            return value
        lengths = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
        for name in lengths.keys() & value.keys():
            assert len(bytes.fromhex(value[name])) == lengths[name]
            assert int(value[name], 16)
        coded = {name: base64.b64encode(bytes.fromhex(value[name])).decode() for name in lengths.keys() & value.keys()}
        return {name: coded.get(name) or plain(one) for name, one in value.items()}

    message = module.ExportTraceServiceRequest() if signal == "trace" else module.ExportLogsServiceRequest()
    parse(json.dumps(plain(json.loads(body))), message)
    assert message.ByteSize()


def test_a_run_is_spans_of_scenario_turn_tool_model_and_judge_and_events_of_scores() -> None:
    with receiver() as collector:
        assert deliver(collector) == OtlpDelivery(collector.address, 10, 10, 8, 8)
    assert [posted.path for posted in collector.posted] == ["/v1/traces", "/v1/logs"]
    for posted in collector.posted:
        assert posted.headers["content-type"] == "application/json"
        assert posted.headers["authorization"] == "Bearer PLANTED"
        require_otlp(posted.path, posted.body)
    spans, records = items(collector.posted[0]), items(collector.posted[1])
    first = [span for span in spans if span["traceId"] == conversation_id(RUN, Place("head", "spa_booking_0", 0))]
    names = {span["spanId"]: span["name"] for span in first}
    assert [(span["name"], names.get(span.get("parentSpanId", ""))) for span in first] == [
        ("invoke_agent spa_booking_0", None),
        ("chat model-1", "turn 1"),
        ("execute_tool check_availability", "turn 1"),
        ("turn 1", "invoke_agent spa_booking_0"),
        ("chat judge-1", "invoke_agent spa_booking_0"),
    ]
    model, judge = attributes(first[1]), attributes(first[4])
    assert model["gen_ai.operation.name"] == "chat"
    assert (model["gen_ai.usage.input_tokens"], model["gen_ai.usage.output_tokens"]) == ("128", "30")
    assert (model["gen_ai.usage.cache_read.input_tokens"], model["ratiba.cost_usd"]) == ("8", 0.0125)
    assert (judge["gen_ai.evaluation.name"], judge["ratiba.party"]) == ("SwahiliFluencyMetric", "judge")
    assert attributes(first[0])["ratiba.pull_request"] == "7"
    text = json.loads(attributes(first[3])["gen_ai.output.messages"])
    assert text == [{"role": "assistant", "parts": [{"type": "text", "content": "Nimekuhifadhia saa nane."}]}]
    assert [record["eventName"] for record in records[:4]] == [
        "ratiba.state_transition",
        "ratiba.state_transition",
        "gen_ai.evaluation.result",
        "gen_ai.evaluation.result",
    ]
    score = attributes(records[2])
    assert (score["gen_ai.evaluation.name"], score["gen_ai.evaluation.score.label"]) == ("SwahiliFluencyMetric", "pass")
    assert (score["gen_ai.evaluation.score.value"], score["ratiba.threshold"]) == (0.9, "0.8")
    assert records[2]["spanId"] == first[0]["spanId"]


def test_names_are_those_of_opentelemetrys_own_list() -> None:
    conventions = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    known = {value for name, value in vars(conventions).items() if name.startswith("GEN_AI_")}
    (run,) = traced_runs(logged_run(1, passed=False))
    trace = run.traces[0]
    sent = [*map(span_json, trace.spans), *records_json(trace)]
    used = {name for item in sent for name in attributes(item) if name.startswith("gen_ai.")}
    assert used <= known
    operations = {attributes(item).get("gen_ai.operation.name") for item in sent} - {None}
    assert operations <= {value.value for value in conventions.GenAiOperationNameValues}
    assert {"gen_ai.conversation.id", "gen_ai.request.model", "gen_ai.evaluation.score.value"} <= used


def test_a_failure_is_an_event_of_its_conversation_and_the_status_of_its_span() -> None:
    failed = EvaluationFailed("check", "must_contain", "saa nane", "saa tisa", "the reply lacks it")
    happened: list[tuple[Happening, Place]] = [
        (ConversationStarted(conversation_id(RUN, PLACE), "none"), PLACE),
        (failed, PLACE),
        (ConversationEnded("scored", passed=False, reason="must_contain failed"), PLACE),
    ]
    (run,) = traced_runs(logged(happened))
    root = span_json(run.traces[0].spans[0])
    assert root["status"] == {"code": 2, "message": "must_contain failed"}
    record = next(record for record in records_json(run.traces[0]) if record["eventName"] == "ratiba.EVAL_FAIL")
    assert (record["severityText"], record["spanId"]) == ("ERROR", root["spanId"])
    assert attributes(record)["ratiba.expected"] == "saa nane"


def test_sent_again_everything_has_the_same_ids() -> None:
    with receiver() as collector:
        for _ in range(2):
            deliver(collector)
    assert collector.posted[0].body == collector.posted[2].body
    assert collector.posted[1].body == collector.posted[3].body


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_whatever_a_model_says_the_body_is_otlp(text: str) -> None:
    begun = Event(ConversationStarted(conversation_id(RUN, PLACE), "none"), PLACE)
    events = [begun, *sample_events(text, Place("head", "spa_booking", 0, turn=1))]
    runs = traced_runs(LoggedEvent(RUN, number, BEGAN, event) for number, event in enumerate(events, 1))
    for run in runs:
        for trace in run.traces:
            spans = {"resourceSpans": [{"scopeSpans": [{"spans": [*map(span_json, trace.spans)]}]}]}
            require_otlp("/v1/traces", json.dumps(spans).encode())
            logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [*records_json(trace)]}]}]}
            require_otlp("/v1/logs", json.dumps(logs).encode())


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_the_specification_lets_be_sent_again_is_sent_again(status: int) -> None:
    with receiver(Reply(status, headers={"Retry-After": "0"}), Reply(status)) as collector:
        assert deliver(collector).complete
    assert [posted.path for posted in collector.posted] == ["/v1/traces"] * 3 + ["/v1/logs"]
    assert len({posted.body for posted in collector.posted[:3]}) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500, 501, 301])
def test_every_other_refusal_is_not_repeated_and_named(status: int) -> None:
    with receiver(usual=Reply(status, headers={"Location": "/elsewhere"})) as collector:
        delivery = deliver(collector)
    assert [posted.path for posted in collector.posted] == ["/v1/traces", "/v1/logs"]
    assert (delivery.spans_there, delivery.events_there) == (0, 0)
    assert f"it answered {status} at /v1/traces" in delivery.problem


def test_a_longer_wait_than_there_is_time_for_is_not_waited() -> None:
    began = time.monotonic()
    with receiver(usual=Reply(503, headers={"Retry-After": "60"})) as collector:
        assert not deliver(collector, 59.0).complete
    assert time.monotonic() - began < 30


def test_what_is_rejected_of_a_request_is_counted_and_not_sent_again() -> None:
    partly = Reply(body=b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too\\nold"}}')
    with receiver(partly, Reply(body=b'{"partialSuccess": {"rejectedLogRecords": 1}}')) as collector:
        delivery = deliver(collector)
    assert (delivery.spans_there, delivery.events_there, len(collector.posted)) == (7, 7, 2)
    assert delivery.problem == "it rejected 3 spans: too old; it rejected 1 events"


@pytest.mark.parametrize("body", [b"", b"no JSON", b"[]", b'{"partialSuccess": 7}', b'{"partialSuccess": null}'])
def test_a_success_in_other_words_is_a_success(body: bytes) -> None:
    with receiver(usual=Reply(body=body)) as collector:
        assert deliver(collector).complete


def test_a_collector_that_hangs_is_left_at_the_deadline() -> None:
    began = time.monotonic()
    with receiver(usual=Reply(0)) as collector:
        delivery = deliver(collector, 0.4)
    assert time.monotonic() - began < 30
    assert delivery.problem == "The collector took too long"


@pytest.mark.usefixtures("short_waits")
def test_one_that_is_not_there_is_a_note_that_says_how_to_send_it_later() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    delivery = send(OtlpAccess(address, seconds=30), traced_runs(logged_run(1)))
    note = not_received(delivery, "ratiba-report/events.jsonl")
    assert note.startswith("The OpenTelemetry collector did not take 5 of 5 spans and 4 of 4 events of this run: ")
    assert "could not be reached" in note
    assert note.endswith(
        "'ratiba report --resend-otlp ratiba-report/events.jsonl' sends them again, with the same ids."
    )


def long_run() -> Iterator[LoggedEvent]:
    reply = "Karibu. " * 2000
    happened: list[Any] = []
    for number in range(90):
        place = Place("head", f"scenario_{number}", 0)
        happened += [
            (ConversationStarted(conversation_id(RUN, place), "none"), place),
            (TurnEnded(reply, 0.1, user="Habari"), Place("head", f"scenario_{number}", 0, turn=1)),
        ]
    yield from logged(happened)


def test_a_long_run_is_several_requests_and_one_that_is_refused_costs_no_other() -> None:
    with receiver(Reply(413)) as collector:
        delivery = deliver(collector, runs=traced_runs(long_run()))
    traces = [posted for posted in collector.posted if posted.path == "/v1/traces"]
    assert len(traces) > 1
    assert max(len(posted.body) for posted in traces) < 1_100_000
    assert 0 < delivery.spans_there < delivery.spans == 180
