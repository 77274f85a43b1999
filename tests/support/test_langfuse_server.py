"""The stand-in for Langfuse: what its own client sends and reads back, and how it misbehaves."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

import httpx
from langfuse import Langfuse
from langfuse.api import LangfuseAPI
from langfuse.api.core import ApiError
from langfuse.api.core.request_options import RequestOptions
from langfuse.api.scores.types.create_score_request import CreateScoreRequest

from tests.support.eventually import eventually
from tests.support.langfuse_clients import langfuse_api, langfuse_client
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server

if TYPE_CHECKING:
    from langfuse.experiment import ExperimentItem

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
ONCE = RequestOptions(max_retries=0, timeout_in_seconds=5)


@pytest.fixture
def state() -> LangfuseState:
    return LangfuseState()


@pytest.fixture
def host(state: LangfuseState) -> Iterator[str]:
    with langfuse_server(state) as url:
        yield url


@pytest.fixture
def api(host: str, state: LangfuseState) -> Iterator[LangfuseAPI]:
    with langfuse_api(state, host) as made:
        yield made


@pytest.fixture
def client(host: str, state: LangfuseState) -> Iterator[Langfuse]:
    with langfuse_client(state, host) as made:
        yield made


def score(**fields: Any) -> CreateScoreRequest:
    return CreateScoreRequest(**{"id": "s1", "name": "fluency", "value": 0.9, "trace_id": "t1", **fields})


def test_what_the_client_traces_can_be_read_as_observations(client: Langfuse, api: LangfuseAPI) -> None:
    with client.start_as_current_observation(name="conversation", input={"user": "Habari"}) as root:
        with root.start_as_current_observation(
            name="model call",
            as_type="generation",
            model="model-1",
            usage_details={"input": 12, "output": 3},
            cost_details={"total": 0.25},
            metadata={"tenant_id": "t1"},
        ):
            pass
        root.score_trace(name="fluency", value=0.75, comment="fluent", score_id="score-1")
    client.flush()
    fields = "core,basic,io,metadata,model,usage,trace_context"
    seen = {one.name: one for one in api.observations.get_many(trace_id=root.trace_id, fields=fields).data}
    assert seen["conversation"].is_root_observation
    assert seen["conversation"].input == '{"user": "Habari"}'
    assert seen["model call"].parent_observation_id == root.id
    assert (seen["model call"].type, seen["model call"].model) == ("GENERATION", "model-1")
    assert seen["model call"].usage_details == {"input": 12, "output": 3}
    assert seen["model call"].total_cost == 0.25
    assert (seen["model call"].metadata or {})["tenant_id"] == "t1"
    (kept,) = api.scores.get_many(trace_id=root.trace_id, fields="details,subject").data
    assert (kept.id, kept.name, kept.value, kept.comment) == ("score-1", "fluency", 0.75, "fluent")
    assert kept.subject is not None
    assert (kept.subject.kind, kept.subject.id) == ("trace", root.trace_id)


def test_an_experiment_of_the_client_is_found_with_its_items(client: Langfuse, api: LangfuseAPI) -> None:
    client.create_dataset(name="suite one")
    client.create_dataset_item(dataset_name="suite one", id="item-1", input="Habari", expected_output="Nzuri")

    def task(*, item: "ExperimentItem", **_: Any) -> str:
        return f"{item.input} sana"  # type: ignore[union-attr] # the dataset's items are objects

    result = client.get_dataset("suite one").run_experiment(name="head", run_name="run-1", task=task)
    client.flush()
    (run,) = api.experiments.list(from_start_time=LONG_AGO).data
    assert (run.id, run.name, run.item_count) == (result.experiment_id, "run-1", 1)
    (item,) = api.experiments.list_items(from_start_time=LONG_AGO, experiment_id=run.id).data
    assert (item.experiment_item_id, item.output) == ("item-1", "Habari sana")


def test_datasets_and_items_are_upserted_listed_by_pages_and_deleted(client: Langfuse, api: LangfuseAPI) -> None:
    for text in ("one", "two"):
        client.create_dataset(name="suite", description=text)
        for number in range(3):
            client.create_dataset_item(dataset_name="suite", id=f"item-{number}", input=text)
    assert [one.description for one in api.datasets.list().data] == ["two"]
    dataset = client.get_dataset("suite", fetch_items_page_size=2)
    assert [(one.id, one.input) for one in dataset.items] == [(f"item-{number}", "two") for number in range(3)]
    api.dataset_items.delete("item-1")
    assert [one.id for one in api.dataset_items.list(dataset_name="suite").data] == ["item-0", "item-2"]
    with pytest.raises(ApiError) as error:
        api.dataset_items.get("item-1")
    assert error.value.status_code == 404


def test_observations_and_scores_come_in_pages_behind_a_cursor(client: Langfuse, api: LangfuseAPI) -> None:
    for number in range(5):
        with client.start_as_current_observation(name=f"turn {number}"):
            pass
    client.flush()
    names, cursor = [], None
    while True:
        page = api.observations.get_many(limit=2, cursor=cursor)
        names += [one.name for one in page.data]
        if not (cursor := page.meta.cursor):
            break
    assert names == [f"turn {number}" for number in (4, 3, 2, 1, 0)]
    api.scores.create(request=[score(id=f"s{number}", name="user_feedback", value=number) for number in range(3)])
    first = api.scores.get_many(limit=2, name="user_feedback", data_type="NUMERIC", value_max=1)
    assert {one.id for one in first.data} == {"s0", "s1"}
    assert first.meta.cursor is None


def test_a_span_that_is_sent_twice_is_there_twice_and_a_score_is_overwritten(
    client: Langfuse, api: LangfuseAPI, state: LangfuseState
) -> None:
    with client.start_as_current_observation(name="conversation"):
        pass
    client.flush()
    state.spans += state.spans
    assert len(api.observations.get_many().data) == 2
    assert list(state.span_copies.values()) == [2]
    for value in (0.1, 0.2):
        api.scores.create(request=[score(value=value, timestamp=NOON)])
    assert [one.value for one in api.scores.get_many().data] == [0.2]
    api.scores.create(request=[score(timestamp=NOON.replace(day=23))])
    assert state.score_copies == {"s1": 2}


def test_a_server_that_fails_answers_500(api: LangfuseAPI, state: LangfuseState) -> None:
    state.mode = Mode.FAILING
    with pytest.raises(ApiError) as error:
        api.projects.get(request_options=ONCE)
    assert error.value.status_code == 500


def test_a_busy_server_says_when_to_come_again(api: LangfuseAPI, state: LangfuseState) -> None:
    state.mode = Mode.BUSY
    with pytest.raises(ApiError) as error:
        api.projects.get(request_options=ONCE)
    assert error.value.status_code == 429
    assert (error.value.headers or {})["retry-after"] == "1"


def test_a_rejecting_server_takes_every_second_score_and_counts(api: LangfuseAPI, state: LangfuseState) -> None:
    state.mode = Mode.REJECTING
    answered = api.scores.with_raw_response.create(request=[score(id=f"s{number}") for number in range(5)])
    assert answered.data.accepted == 3
    assert answered.data.rejected == 2
    assert state.score_copies == {"s0": 1, "s2": 1, "s4": 1}


@pytest.mark.parametrize("mode", [Mode.BLACK_HOLE, Mode.ANSWER_LOST])
def test_a_server_that_never_answers_leaves_the_client_without_one(mode: Mode) -> None:
    state = LangfuseState(mode=mode)
    brief = RequestOptions(max_retries=0, timeout_in_seconds=1)
    with langfuse_server(state) as url, langfuse_api(state, url) as api:
        with pytest.raises(httpx.TransportError):
            api.scores.create(request=[score()], request_options=brief)
        eventually(lambda: len(state.received) == 1)
        eventually(lambda: len(state.scores) == (1 if mode is Mode.ANSWER_LOST else 0))


def test_other_keys_are_refused(host: str) -> None:
    with langfuse_api(LangfuseState(secret_key="other"), host) as api, pytest.raises(ApiError) as error:
        api.projects.get(request_options=ONCE)
    assert error.value.status_code == 401


def misspeak(state: LangfuseState) -> None:
    pair = base64.b64encode(f"{state.public_key}:{state.secret_key}".encode()).decode()
    headers = {"Authorization": f"Basic {pair}"}
    with langfuse_server(state) as url:
        for path, body in (("scores", [{"name": "x", "value": 1, "tracid": "t"}]), ("v2/datasets", {})):
            httpx.post(f"{url}/api/public/{path}", json=body, headers=headers)
        httpx.post(f"{url}/api/public/otel/v1/traces", content=b"", headers=headers)
        httpx.get(f"{url}/api/public/sessions", headers=headers)


def test_what_the_client_does_not_describe_fails_the_test_that_sent_it() -> None:
    with pytest.raises(AssertionError) as error:
        misspeak(LangfuseState())
    message = str(error.value)
    assert "knows no tracid" in message
    assert "name" in message
    assert "x-langfuse-ingestion-version is None" in message
    assert "GET /sessions is none of the endpoints" in message


def test_what_is_not_visible_yet_cannot_be_read(api: LangfuseAPI, state: LangfuseState) -> None:
    state.visible = False
    api.scores.create(request=[score()])
    assert api.scores.get_many().data == []
    assert state.score_copies == {"s1": 1}


def test_a_span_is_decoded_with_its_times_and_parent(client: Langfuse, state: LangfuseState) -> None:
    with (
        client.start_as_current_observation(name="outer") as outer,
        client.start_as_current_observation(name="inner"),
    ):
        pass
    client.flush()
    inner = next(span for span in state.spans_of(outer.trace_id) if span.name == "inner")
    assert inner.parent_id == outer.id
    assert replace(inner, end=inner.start) != inner
