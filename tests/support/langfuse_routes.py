"""Which part of a stand-in for Langfuse answers what, each answer held against the model that its client reads."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support import langfuse_datasets, langfuse_experiments, langfuse_scores, langfuse_spans
from tests.support.langfuse_shapes import problem_with
from tests.support.langfuse_state import PROJECT_ID, Answer, LangfuseState, Received, refused

_OK = 300


def answer(state: LangfuseState, request: Received) -> Answer:
    """The answer of a server in good health, or one that takes half."""
    address = urlsplit(request.path)
    path = address.path.removeprefix("/api/public")
    query = dict(parse_qsl(address.query))
    if f"{request.method} {path}" in state.lacks:
        page = b"<!DOCTYPE html><html>404: This page could not be found.</html>"
        return Answer(404, page) if state.plain else refused(404, f"{path} is not available in this write mode")
    if request.method == "POST" and path == "/otel/v1/traces":
        return langfuse_spans.take_spans(state, request)
    for method, pattern, model, serve in _ROUTES:
        if method == request.method and (match := re.fullmatch(pattern, path)):
            given = serve(state, unquote(match.group(1)) if match.groups() else "", query, _body(request))
            _hold(state, f"{method} {path}", model, given)
            return given
    state.violations.append(f"{request.method} {path} is none of the endpoints that this stand-in has")
    return refused(404, f"no {path}")


def _body(request: Received) -> Any:
    return json.loads(request.content) if request.content else None


def _hold(state: LangfuseState, name: str, model: str, given: Answer) -> None:
    from langfuse import api
    from langfuse.api.scores.types.create_scores_response import CreateScoresResponse

    if given.status < _OK and model:
        shape = CreateScoresResponse if model == "CreateScoresResponse" else getattr(api, model)
        if problem := problem_with(shape, given.content):
            state.violations.append(f"the answer of {name}: {problem}")


def _projects() -> Answer:
    organization = {"id": "organization", "name": "Ratiba"}
    return Answer(200, {"data": [{"id": PROJECT_ID, "name": "gate", "organization": organization, "metadata": {}}]})


_Serve = Callable[[LangfuseState, str, Mapping[str, str], Any], Answer]

_ROUTES: tuple[tuple[str, str, str, _Serve], ...] = (
    ("GET", "/projects", "Projects", lambda *_: _projects()),
    ("GET", "/health", "HealthResponse", lambda state, *_: Answer(200, {"version": state.version, "status": "OK"})),
    (
        "GET",
        "/v2/observations",
        "ObservationsV2Response",
        lambda state, _, query, __: langfuse_spans.list_observations(state, query),
    ),
    ("GET", "/traces", "", lambda state, _, query, __: langfuse_spans.list_traces(state, query)),
    ("POST", "/ingestion", "", lambda state, _, __, body: langfuse_scores.take_events(state, body)),
    (
        "POST",
        "/scores",
        "CreateScoresResponse",
        lambda state, _, __, body: langfuse_scores.take_scores(state, body),
    ),
    (
        "GET",
        "/v3/scores",
        "GetScoresV3Response",
        lambda state, _, query, __: langfuse_scores.list_scores(state, query),
    ),
    (
        "GET",
        "/v2/datasets",
        "PaginatedDatasets",
        lambda state, _, query, __: langfuse_datasets.list_datasets(state, query),
    ),
    ("POST", "/v2/datasets", "Dataset", lambda state, _, __, body: langfuse_datasets.create_dataset(state, body)),
    ("GET", "/v2/datasets/(.+)", "Dataset", lambda state, name, *_: langfuse_datasets.get_dataset(state, name)),
    (
        "GET",
        "/dataset-items",
        "PaginatedDatasetItems",
        lambda state, _, query, __: langfuse_datasets.list_items(state, query),
    ),
    ("POST", "/dataset-items", "DatasetItem", lambda state, _, __, body: langfuse_datasets.create_item(state, body)),
    ("GET", "/dataset-items/(.+)", "DatasetItem", lambda state, name, *_: langfuse_datasets.get_item(state, name)),
    (
        "DELETE",
        "/dataset-items/(.+)",
        "DeleteDatasetItemResponse",
        lambda state, name, *_: langfuse_datasets.delete_item(state, name),
    ),
    (
        "GET",
        "/experiments",
        "ExperimentsResponse",
        lambda state, _, query, __: langfuse_experiments.list_experiments(state, query),
    ),
    (
        "GET",
        "/experiment-items",
        "ExperimentItemsResponse",
        lambda state, _, query, __: langfuse_experiments.list_experiment_items(state, query),
    ),
)
