"""Runs are sent to Langfuse: whole, within their deadline whatever the server does, and never twice."""

import gzip
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.model.event import ConversationStarted, EvaluationFailed, Happening, Place, ScoreLogged, TurnEnded
from ratiba_action.observability.langfuse_asking import LangfuseAccess
from ratiba_action.observability.langfuse_delivery import deliver
from ratiba_action.observability.traces.conversations import traced_runs
from tests.support.langfuse_clients import langfuse_api
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server
from tests.support.langfuse_state import NEWEST, older_langfuse
from tests.support.logged_runs import SCORES_EACH, SPANS_EACH, logged, logged_run

CONVERSATIONS = 3
RUNS = traced_runs(logged_run(CONVERSATIONS))
SPANS, SCORES = CONVERSATIONS * SPANS_EACH, CONVERSATIONS * SCORES_EACH
BAD_META = b'{"data": [{"id": "a", "observations": null}], "meta": {"totalPages": "x"}}'
PROJECTS = b'{"data": [{"id": "p", "name": "p", "organization": {"id": "o", "name": "o"}, "metadata": {}}]}'
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def state() -> LangfuseState:
    return LangfuseState()


@pytest.fixture
def host(state: LangfuseState) -> Iterator[str]:
    with langfuse_server(state) as url:
        yield url


def access(host: str, seconds: float = 60.0) -> LangfuseAccess:
    known = LangfuseState()
    return LangfuseAccess(host, known.public_key, known.secret_key, seconds)


def holds_one_copy_of_each(state: LangfuseState) -> bool:
    copies = [*state.span_copies.values(), *state.score_copies.values()]
    return (len(state.span_copies), len(state.score_copies)) == (SPANS, SCORES) and set(copies) == {1}


def test_a_healthy_server_has_everything_and_the_conversations_are_linked(host: str, state: LangfuseState) -> None:
    delivery = deliver(access(host), RUNS)
    assert delivery.complete
    assert (delivery.traces, delivery.spans_there, delivery.scores_there) == (CONVERSATIONS, SPANS, SCORES)
    assert holds_one_copy_of_each(state)
    trace = RUNS[0].traces[0]
    assert delivery.links[0].url == f"{host}/project/project-of-the-gate/traces/{trace.trace_id}"
    assert delivery.links[0].label == "spa_booking_0"


def test_all_conversations_of_one_run_are_linked_together(host: str) -> None:
    assert deliver(access(host), RUNS).run_url == f"{host}/project/project-of-the-gate/sessions/{RUNS[0].run}"
    assert deliver(access(host), [*RUNS, *traced_runs(logged_run(1, "another"))]).run_url == ""
    assert deliver(access("http://127.0.0.1:1", 0.5), RUNS).run_url == ""


def answering_with(body: bytes) -> type[BaseHTTPRequestHandler]:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Answers


@pytest.mark.parametrize("body", [b"<html>" + b"x" * 2_000_000, b"[" * 100_000, b'{"data": "' + b"y" * 50_000 + b'"}'])
def test_garbage_is_a_short_problem_however_long_it_is(body: bytes) -> None:
    with HTTPServer(("127.0.0.1", 0), answering_with(body)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        delivery = deliver(access(f"http://127.0.0.1:{server.server_port}"), RUNS)
        server.shutdown()
    assert not delivery.complete
    assert 0 < len(delivery.problem) <= 300


def test_conversations_of_long_texts_are_sent_in_requests_that_a_server_takes(host: str, state: LangfuseState) -> None:
    place = [Place("head", f"long_{number}", 0) for number in range(12)]
    happened: list[tuple[Happening, Place]] = []
    for one in place:
        happened += [(ConversationStarted("", ""), one), (TurnEnded("x" * 90_000, 0.1, user="y" * 90_000), one)]
    assert deliver(access(host), traced_runs(logged(happened))).complete
    assert len(state.span_copies) == 2 * len(place)
    sent = [one for one in state.received if one.path.startswith("/api/public/otel")]
    assert max(len(gzip.decompress(one.content)) for one in sent) < 4_500_000


def test_what_is_sent_again_is_there_once(host: str, state: LangfuseState) -> None:
    first = deliver(access(host), RUNS)
    assert deliver(access(host), RUNS) == first
    assert holds_one_copy_of_each(state)


@pytest.mark.parametrize("mode", [Mode.FAILING, Mode.REJECTING, Mode.BUSY, Mode.BLACK_HOLE, Mode.ANSWER_LOST])
def test_a_server_that_is_not_well_is_left_in_time_and_has_one_copy_of_each_later(
    mode: Mode, host: str, state: LangfuseState
) -> None:
    seconds = 1.0
    state.mode = mode
    started = time.monotonic()
    delivery = deliver(access(host, seconds), RUNS)
    # The margin is for a machine that is busy; without the deadline a black hole holds the sender for ever.
    assert time.monotonic() - started < seconds + 20
    assert not delivery.complete
    assert delivery.problem
    assert delivery.spans_there < SPANS
    state.mode = Mode.HEALTHY
    assert deliver(access(host), RUNS).complete
    assert holds_one_copy_of_each(state)


def test_a_dead_server_is_said_to_be_out_of_reach_and_has_one_copy_of_each_later(
    host: str, state: LangfuseState
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        delivery = deliver(access(f"http://127.0.0.1:{taken.getsockname()[1]}", 2.0), RUNS)
    assert delivery.problem == "it cannot be reached"
    assert (delivery.spans_there, delivery.scores_there, delivery.links) == (0, 0, ())
    assert [deliver(access(host), RUNS).complete for _ in range(2)] == [True, True]
    assert holds_one_copy_of_each(state)


def test_spans_whose_answer_was_lost_are_not_sent_again(host: str, state: LangfuseState) -> None:
    state.mode = Mode.ANSWER_LOST
    delivery = deliver(access(host), RUNS)
    assert delivery.problem == "the connection ended without an answer"
    assert len(state.spans) == SPANS
    state.mode = Mode.HEALTHY
    assert deliver(access(host), RUNS).complete
    assert holds_one_copy_of_each(state)


def test_only_the_spans_that_are_missing_are_sent(host: str, state: LangfuseState) -> None:
    deliver(access(host), RUNS)
    taken = list(state.spans)
    state.spans = taken[::3]
    assert deliver(access(host), RUNS).complete
    assert holds_one_copy_of_each(state)
    assert {(span.trace_id, span.span_id) for span in taken} == set(state.span_copies)


def test_a_server_that_cannot_say_what_it_has_is_sent_nothing(host: str, state: LangfuseState) -> None:
    wrong = replace(access(host), secret_key="another")
    delivery = deliver(wrong, RUNS)
    assert delivery.problem == "it refuses the keys (status 401)"
    assert all("otel" not in request.path for request in state.received)


def test_the_keys_are_in_no_address_and_no_answer_tells_them(host: str, state: LangfuseState) -> None:
    delivery = deliver(access(host), RUNS)
    assert state.secret_key not in repr((delivery, access(host), [request.path for request in state.received]))


def test_the_run_is_an_experiment_on_the_dataset_of_its_suite(host: str, state: LangfuseState) -> None:
    with langfuse_api(state, host) as api:
        dataset = api.datasets.create(name="ratiba/assistant/ratiba")
        deliver(access(host), RUNS)
        (run,) = api.experiments.list(from_start_time=LONG_AGO).data
        items = api.experiments.list_items(from_start_time=LONG_AGO, experiment_id=run.id).data
    assert (run.dataset_id, run.name, run.item_count) == (dataset.id, f"{RUNS[0].run} head", CONVERSATIONS)
    assert {item.trace_id for item in items} == {trace.trace_id for trace in RUNS[0].traces}


def test_many_conversations_are_sent_in_several_requests(state: LangfuseState, host: str) -> None:
    many = traced_runs(logged_run(70))
    assert deliver(access(host), many).complete
    assert sum("otel" in request.path for request in state.received) == 3
    assert sum(request.path.endswith("/scores") for request in state.received) == 2
    assert set(state.span_copies.values()) == {1}


def test_what_a_model_said_cannot_stop_the_delivery(state: LangfuseState, host: str) -> None:
    place = Place("head", "spa_booking", 0)
    hostile = "\ud800 \0 </b> \U0001f4a5 " + "x" * 150_000
    happened: list[tuple[Happening, Place]] = [
        (ConversationStarted("conversation", "tenant"), place),
        (TurnEnded(hostile, 0.1, user=hostile), Place("head", "spa_booking", 0, turn=1)),
        (EvaluationFailed("check", hostile, expected=hostile, got=hostile, reason=hostile), place),
        (ScoreLogged("Fluency", hostile, 0.5, 0.8, passed=False, reason=hostile), place),
    ]
    assert deliver(access(host), traced_runs(logged(happened))).complete
    turn = next(span for span in state.spans if span.name == "turn 1")
    assert str(turn.attributes["langfuse.observation.output"]).startswith("? \0 </b>")
    assert len(turn.attributes["langfuse.observation.output"]) == 100_000


def test_a_run_without_conversations_asks_and_sends_nothing_else(state: LangfuseState, host: str) -> None:
    assert deliver(access(host), traced_runs(logged_run(0))).complete
    assert {request.method for request in state.received} == {"GET"}


def requested(state: LangfuseState, path: str) -> int:
    return sum(request.path.split("?")[0] == f"/api/public/{path}" for request in state.received)


@pytest.mark.parametrize("plain", [False, True], ids=["404 as JSON", "404 as HTML"])
def test_a_server_without_the_newest_read_is_verified_by_the_older_one(plain: bool) -> None:  # noqa: FBT001 - a parameter of the test
    state = older_langfuse(plain=plain)
    many = traced_runs([*logged_run(130, "first"), *logged_run(2, "second")])
    with langfuse_server(state) as host:
        first = deliver(access(host, 60), many)
        sent = requested(state, "otel/v1/traces")
        assert requested(state, "v2/observations") == 1
        assert deliver(access(host, 60), many) == first
    assert first.complete
    assert not first.unverified
    assert len(state.span_copies) == sum(run.spans for run in many) == first.spans_there
    assert len(state.score_copies) == sum(run.scores for run in many) == first.scores_there
    assert requested(state, "otel/v1/traces") == sent


def test_only_what_an_older_server_lacks_is_sent() -> None:
    state = older_langfuse()
    with langfuse_server(state) as host:
        deliver(access(host), RUNS)
        taken = list(state.spans)
        state.spans = taken[::3]
        assert deliver(access(host), RUNS).complete
    assert holds_one_copy_of_each(state)
    assert state.spans[: len(taken[::3])] == taken[::3]


def test_a_server_that_cannot_say_what_it_has_is_sent_everything_and_reported_as_unverified() -> None:
    state = older_langfuse(NEWEST | {"GET /traces"})
    with langfuse_server(state) as host:
        delivery = deliver(access(host), RUNS)
    assert delivery.complete
    assert delivery.unverified == "it has neither GET /api/public/v2/observations nor GET /api/public/traces"
    assert holds_one_copy_of_each(state)


def test_scores_that_an_older_server_refuses_are_counted() -> None:
    state = older_langfuse()
    state.mode = Mode.REJECTING
    with langfuse_server(state) as host:
        delivery = deliver(access(host), RUNS)
    assert delivery.scores_there == len(state.score_copies) < SCORES
    assert "scores: every second score is refused" in delivery.problem


def test_a_list_of_scores_is_offered_to_an_older_server_once() -> None:
    state = older_langfuse()
    with langfuse_server(state) as host:
        assert deliver(access(host, 60), traced_runs(logged_run(70))).complete
    assert requested(state, "scores") == 1
    assert requested(state, "ingestion") == 2


def test_an_older_server_without_the_ingestion_lacks_the_scores() -> None:
    state = older_langfuse(NEWEST | {"POST /ingestion"})
    with langfuse_server(state) as host:
        delivery = deliver(access(host), RUNS)
    assert (delivery.spans_there, delivery.scores_there) == (SPANS, 0)
    assert delivery.problem == "it answered with status 404"


@pytest.mark.parametrize("body", [b"[]", b'{"data": [{}], "meta": {}}', BAD_META, b"[" * 100_000, b"<p>"])
def test_a_list_of_traces_that_is_none_is_a_problem_and_nothing_is_sent(body: bytes) -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = {"projects": PROJECTS, "traces": body}.get(self.path.split("?")[0].rsplit("/", 1)[1])
            self.send_response(200 if given else 404)
            self.send_header("content-length", str(len(given or b"")))
            self.end_headers()
            self.wfile.write(given or b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        delivery = deliver(access(f"http://127.0.0.1:{server.server_port}"), RUNS)
        server.shutdown()
    assert delivery.problem == "its answer is not one of Langfuse's"
    assert delivery.spans_there == 0
