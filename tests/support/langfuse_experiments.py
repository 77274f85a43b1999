"""Experiments of a stand-in for Langfuse, read out of the attributes of the spans that it took."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.support.langfuse_pages import page_after
from tests.support.langfuse_spans import observation_of
from tests.support.langfuse_state import Answer, LangfuseState, TakenSpan, refused

_PREFIX = "langfuse.experiment"
_KNOWN = {"fromStartTime", "toStartTime", "limit", "cursor", "fields", "scoreLimit"}


def list_experiments(state: LangfuseState, query: Mapping[str, str]) -> Answer:
    """``GET /api/public/experiments``."""
    unknown = set(query) - {*_KNOWN, "id", "name", "datasetId"}
    if unknown or "fromStartTime" not in query:
        return refused(400, f"not understood: {sorted(unknown)}; fromStartTime is needed")
    found = [_experiment(name, spans) for name, spans in _by_experiment(state.spans).items()]
    wanted = {name: query[name].split(",") for name in ("id", "name", "datasetId") if name in query}
    asked = [one for one in found if all(one.get(name) in values for name, values in wanted.items())]
    page, meta = page_after(asked, query.get("cursor"), int(query.get("limit", "50")))
    return Answer(200, {"data": list(page), "meta": meta})


def list_experiment_items(state: LangfuseState, query: Mapping[str, str]) -> Answer:
    """``GET /api/public/experiment-items``: the root span of each item."""
    unknown = set(query) - {*_KNOWN, "experimentId", "experimentName", "experimentDatasetId"}
    if unknown or "fromStartTime" not in query:
        return refused(400, f"not understood: {sorted(unknown)}; fromStartTime is needed")
    items = [_item(span) for span in state.spans if span.attributes.get(f"{_PREFIX}.id") and _is_root(span)]
    wanted = {name: query[name].split(",") for name in ("experimentId", "experimentName") if name in query}
    asked = [one for one in items if all(one.get(name) in values for name, values in wanted.items())]
    page, meta = page_after(asked, query.get("cursor"), int(query.get("limit", "50")))
    return Answer(200, {"data": list(page), "meta": meta})


def _by_experiment(spans: Sequence[TakenSpan]) -> dict[str, list[TakenSpan]]:
    found: dict[str, list[TakenSpan]] = {}
    for span in spans:
        if name := span.attributes.get(f"{_PREFIX}.id"):
            found.setdefault(str(name), []).append(span)
    return found


def _is_root(span: TakenSpan) -> bool:
    return span.attributes.get(f"{_PREFIX}.item.root_observation_id") == span.span_id


def _experiment(name: str, spans: Sequence[TakenSpan]) -> dict[str, Any]:
    seen = [observation_of(span) for span in spans]
    reported = dict(_own_attributes(spans[0]))
    return {
        "id": name,
        "name": reported.get("name", name),
        "description": reported.get("description"),
        "datasetId": reported.get("dataset.id"),
        "startTime": min(one["startTime"] for one in seen),
        "endTime": max(one["endTime"] for one in seen),
        "itemCount": sum(_is_root(span) for span in spans),
    }


def _item(span: TakenSpan) -> dict[str, Any]:
    reported, seen = dict(_own_attributes(span)), observation_of(span)
    same = ("id", "traceId", "startTime", "endTime", "level", "environment", "input", "output")
    return {
        **{name: seen[name] for name in same},
        "experimentId": reported["id"],
        "experimentName": reported.get("name", reported["id"]),
        "experimentItemId": reported.get("item.id", ""),
        "experimentDatasetId": reported.get("dataset.id"),
        "expectedOutput": reported.get("item.expected_output"),
    }


def _own_attributes(span: TakenSpan) -> Iterator[tuple[str, Any]]:
    for name, value in span.attributes.items():
        if name.startswith(f"{_PREFIX}."):
            yield name.removeprefix(f"{_PREFIX}."), value
