"""Datasets and their items of a stand-in for Langfuse: both are upserted, a dataset by its name, an item by its id."""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.support.langfuse_pages import numbered_page
from tests.support.langfuse_shapes import problem_with
from tests.support.langfuse_state import PROJECT_ID, Answer, LangfuseState, refused


def list_datasets(state: LangfuseState, query: Mapping[str, str]) -> Answer:
    """``GET /api/public/v2/datasets``."""
    page, meta = numbered_page(list(state.datasets.values()), query)
    return Answer(200, {"data": list(page), "meta": meta})


def create_dataset(state: LangfuseState, body: Any) -> Answer:
    """``POST /api/public/v2/datasets``: the same name is the same dataset."""
    from langfuse.api import CreateDatasetRequest

    if problem := problem_with(CreateDatasetRequest, body):
        state.violations.append(problem)
        return refused(400, problem)
    now = _now()
    kept = state.datasets.get(body["name"], {"id": f"dataset-{len(state.datasets) + 1}", "createdAt": now})
    empty = {"description": None, "metadata": None}
    state.datasets[body["name"]] = {**empty, **kept, **body, "projectId": PROJECT_ID, "updatedAt": now}
    return Answer(200, state.datasets[body["name"]])


def get_dataset(state: LangfuseState, name: str) -> Answer:
    """``GET /api/public/v2/datasets/{name}``."""
    return Answer(200, state.datasets[name]) if name in state.datasets else refused(404, f"no dataset {name!r}")


def list_items(state: LangfuseState, query: Mapping[str, str]) -> Answer:
    """``GET /api/public/dataset-items``."""
    unknown = set(query) - {"datasetName", "sourceTraceId", "sourceObservationId", "version", "page", "limit"}
    if unknown:
        return refused(400, f"not understood: {sorted(unknown)}")
    if query.get("datasetName", "") not in {"", *state.datasets}:
        return refused(404, f"no dataset {query['datasetName']!r}")
    names = ("datasetName", "sourceTraceId", "sourceObservationId")
    wanted = {name: query[name] for name in names if name in query}
    found = [one for one in state.items.values() if all(one.get(name) == value for name, value in wanted.items())]
    page, meta = numbered_page(found, query)
    return Answer(200, {"data": list(page), "meta": meta})


def create_item(state: LangfuseState, body: Any) -> Answer:
    """``POST /api/public/dataset-items``: an id is of one dataset only, in the whole project."""
    from langfuse.api import CreateDatasetItemRequest

    if problem := problem_with(CreateDatasetItemRequest, body):
        state.violations.append(problem)
        return refused(400, problem)
    dataset = state.datasets.get(body["datasetName"])
    if dataset is None:
        return refused(404, f"no dataset {body['datasetName']!r}")
    item_id, now = body.get("id") or str(uuid.uuid4()), _now()
    kept = state.items.get(item_id, {"createdAt": now})
    if kept.get("datasetId", dataset["id"]) != dataset["id"]:
        return refused(409, f"{item_id!r} is an item of another dataset")
    empty: dict[str, Any] = {
        "input": None,
        "expectedOutput": None,
        "metadata": None,
        "status": "ACTIVE",
        "mediaReferences": [],
    }
    ours = {"id": item_id, "datasetId": dataset["id"], "updatedAt": now}
    given = {name: value for name, value in body.items() if value is not None}
    state.items[item_id] = {**empty, **kept, **given, **ours}
    return Answer(200, state.items[item_id])


def get_item(state: LangfuseState, item_id: str) -> Answer:
    """``GET /api/public/dataset-items/{id}``."""
    return Answer(200, state.items[item_id]) if item_id in state.items else refused(404, f"no item {item_id!r}")


def delete_item(state: LangfuseState, item_id: str) -> Answer:
    """``DELETE /api/public/dataset-items/{id}``."""
    if state.items.pop(item_id, None) is None:
        return refused(404, f"no item {item_id!r}")
    return Answer(200, {"message": "Dataset item successfully deleted"})


def _now() -> str:
    return datetime.now(UTC).isoformat()
